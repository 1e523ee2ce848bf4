"""What the status of a feature store says about its video."""

from __future__ import annotations


def left_out(status: str, imported: bool) -> bool:
    """Return whether a store lacks frames because bad videos were to be skipped when it was made.

    Parameters
    ----------
    status
        ``ok``, ``partial`` or ``skipped``.
    imported
        Whether the features were made elsewhere: those are ``partial`` also where ``on_mismatch: trim`` takes too few.
    """
    return status == "skipped" or (status == "partial" and not imported)
