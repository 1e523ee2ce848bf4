"""Figures: what a figure is (`figure`), and its classes.

All of them are imported whenever the workflow is parsed; pandas, matplotlib and PyTorch only where something is drawn.
"""
