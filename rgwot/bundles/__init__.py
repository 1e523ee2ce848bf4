"""Finished results as single files, with which the key steps of new videos are found."""
