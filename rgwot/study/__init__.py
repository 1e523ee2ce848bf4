"""Planning of the workflow: what is on disk, and what was requested.

The functions take a `Study` and are in layers: the videos of a dataset (`datasets`), the settings of jobs (`jobs`), and
pages and bundles (`pages`). The rules' input functions call them, and so do the commands, which therefore resolve
settings in the same way.
"""
