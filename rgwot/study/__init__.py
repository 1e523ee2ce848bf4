"""What the workflow plans with: what is on disk, and what was asked for.

Functions of a `Study`, in layers: the videos of a dataset (`datasets`), the settings of jobs on them (`jobs`), and
pages and bundles (`pages`). The input functions of the rules call them, and so do the verbs, which resolve their
settings in the same way.
"""
