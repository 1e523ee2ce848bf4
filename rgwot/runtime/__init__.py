"""Common parts of all stages: files, errors, progress, devices, and records of provenance."""
