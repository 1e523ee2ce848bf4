"""Procedure learning from unlabelled videos by regularised Gromov-Wasserstein optimal transport (RGWOT)."""

__version__ = "0.2.0"
