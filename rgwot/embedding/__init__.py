"""From features to embeddings: the encoder and its training, and embeddings that need none."""

MOST_VIEWED = 20_000
"""Samples of a task that choices without labels are made by; longer tasks are thinned evenly."""
