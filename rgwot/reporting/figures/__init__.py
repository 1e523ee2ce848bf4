"""Figures: the definition of a figure (`figure`), and its classes.

All of them are imported whenever the workflow is parsed, but pandas, matplotlib and PyTorch only to draw something.
"""
