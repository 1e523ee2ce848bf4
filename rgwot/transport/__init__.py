"""Regularised fused Gromov-Wasserstein transport between two videos: pure functions of tensors.

Everything is batched: B pairs of an N-frame and an M-frame sequence. :func:`align_frames` goes from
embeddings to the weights of the alignment loss; :func:`solve` is the solver alone; the rest are its parts. Of the
other methods, :mod:`rgwot.transport.kantorovich` holds the transport of VAVA and OPEL, and
:mod:`rgwot.transport.partial` that of REMAP, which :func:`align_frames_partially` uses.
"""

from __future__ import annotations

from rgwot.config.radius import smallest_active_radius, structure_radius
from rgwot.transport.costs import cosine_cost, relative_positions, squared_distance, temporal_prior
from rgwot.transport.fused_gromov_wasserstein import TransportResult, solve
from rgwot.transport.matching import FrameAlignment, align_frames, align_frames_partially
from rgwot.transport.sinkhorn import SinkhornResult, sinkhorn
from rgwot.transport.structure import structure_matrix_x, structure_matrix_y, structure_product
from rgwot.transport.virtual import add_virtual_frame, drop_unmatched, matched_frames, remove_virtual_frame

__all__ = [
    "FrameAlignment",
    "SinkhornResult",
    "TransportResult",
    "add_virtual_frame",
    "align_frames",
    "align_frames_partially",
    "cosine_cost",
    "drop_unmatched",
    "matched_frames",
    "relative_positions",
    "remove_virtual_frame",
    "sinkhorn",
    "smallest_active_radius",
    "solve",
    "squared_distance",
    "structure_matrix_x",
    "structure_matrix_y",
    "structure_product",
    "structure_radius",
    "temporal_prior",
]
