"""Frames to conv4c features: the frozen network, the Zarr store of a video, extraction and its index."""
