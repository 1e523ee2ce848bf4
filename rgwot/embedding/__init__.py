"""From features to embeddings: the encoder and its training, and embeddings that need none."""
