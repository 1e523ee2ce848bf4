"""Tables from scores: the reported and the measured values side by side."""
