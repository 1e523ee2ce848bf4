"""Tables and figures: the functions of each file make them, and ``TABLES`` or ``FIGURES`` name them."""
