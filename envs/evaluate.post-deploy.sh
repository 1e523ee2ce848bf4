#!/usr/bin/env bash
# Run by Snakemake inside the new environment: install rgwot alone, its light dependencies are in evaluate.yaml.
set -euo pipefail
python -m pip install --no-deps "${RGWOT_SOURCE:-.}"
