"""Competing methods, one file each: alignment losses, embeddings and decoders, found by `rgwot.config.methods`."""
