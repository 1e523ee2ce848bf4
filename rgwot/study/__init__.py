"""The facts that the workflow plans with: what is on disk, and what was asked for.

The rules of the workflow know only paths and wildcards. What they look up, check or resolve is here, in layers: the
videos of a dataset (`datasets`), the settings of jobs on them (`jobs`), the input of tables and figures (`tables`) and
pages (`pages`), and targets (`targets`). What is checked before Snakemake starts is in `starting`.
"""
