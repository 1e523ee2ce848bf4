"""Figures: what a figure function returns (`drawing`), the style, and a function per kind of figure.

All modules are imported when a figure is planned; pandas, matplotlib and PyTorch only when one is drawn.
"""
