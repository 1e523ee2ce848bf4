"""Datasets on disk: one module per layout, all giving the same manifest and the same table of segments.

The facts about tasks (number of key steps, step ids, folder and file names) are rows of ``registry.csv``.
"""
