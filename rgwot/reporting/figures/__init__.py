"""Figures: what a kind of figure is (`interface`), which kinds there are and how they are read (`kinds`), each kind.

All of them are imported whenever the workflow is parsed; pandas, matplotlib and PyTorch only where something is drawn.
"""
