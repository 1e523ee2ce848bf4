"""Tables and figures: each file has functions that make some, and names them in ``TABLES`` or ``FIGURES``."""
