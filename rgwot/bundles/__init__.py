"""Finished results as single files, which also find the key steps of new videos."""
