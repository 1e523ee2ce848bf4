"""Figures: what a kind of figure is (`interface`), how figures are read (`spec`), and one module per kind.

All of them are imported whenever the workflow is parsed; pandas, matplotlib and PyTorch only where something is drawn.
"""
