"""Transport between the frames of two videos: pure functions of tensors.

Everything is batched: B pairs of an N-frame and an M-frame sequence. :func:`align_frames` goes from embeddings to
the weights of the alignment loss; :func:`solve` is the solver alone, and the rest are its parts.
"""

from __future__ import annotations

from rgwot.transport.costs import (
    add_virtual_frame,
    cosine_cost,
    relative_positions,
    squared_distance,
    structure_matrix_x,
    structure_matrix_y,
    structure_product,
    structure_radius,
    temporal_prior,
)
from rgwot.transport.fused_gromov_wasserstein import TransportResult, solve
from rgwot.transport.matching import FrameAlignment, align_frames, matched_frames
from rgwot.transport.sinkhorn import sinkhorn

__all__ = [
    "FrameAlignment",
    "TransportResult",
    "add_virtual_frame",
    "align_frames",
    "cosine_cost",
    "matched_frames",
    "relative_positions",
    "sinkhorn",
    "solve",
    "squared_distance",
    "structure_matrix_x",
    "structure_matrix_y",
    "structure_product",
    "structure_radius",
    "temporal_prior",
]
