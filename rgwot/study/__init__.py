"""Planning of the workflow: what is on disk, and what was requested.

The functions take a `Study` and are in layers: the videos of a dataset (`datasets`), the settings of jobs (`jobs`), and
pages and bundles (`pages`). Both the rules' input functions and the commands call them, so settings are always resolved
in the same way.
"""
