"""Synthetic videos of procedures with ground truth: timelines, appearance, and writing."""
