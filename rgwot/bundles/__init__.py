"""Finished results as single files, and the key steps of videos that were not there, by such a file alone."""
