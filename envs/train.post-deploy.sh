#!/usr/bin/env bash
# Run by Snakemake inside the new environment, from the working directory of the workflow: install rgwot with all of its
# dependencies. From another working directory set RGWOT_SOURCE to a checkout or a wheel.
set -euo pipefail
python -m pip install "${RGWOT_SOURCE:-.}"
