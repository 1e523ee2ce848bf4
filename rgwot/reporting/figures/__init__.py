"""Figures: what they show (`spec`), what they are drawn from (`planning`, `plan`), and one module per kind that draws.

The first three are read whenever the workflow is parsed, so this package imports nothing; `draw` loads matplotlib.
"""
