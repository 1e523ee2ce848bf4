"""Losses of the embedding methods: pure functions of tensors, one file each, one value per pair or video."""
