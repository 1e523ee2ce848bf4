"""Embeddings made without the encoder that is trained on pairs of videos."""
