"""Figures: the definition of a figure (`figure`), and its classes.

All classes are imported whenever the workflow is parsed; pandas, matplotlib and PyTorch only when a figure is drawn.
"""
