#!/usr/bin/env bash
# Run by Snakemake inside the new environment, from the working directory of the workflow: install rgwot with all of its
# dependencies. From another working directory set RGWOT_SOURCE to a checkout, which has its lock, or to a wheel.
set -euo pipefail
source="${RGWOT_SOURCE:-.}"
arguments=("${source}[all]")
if [ -f "$source/envs/lock.txt" ]; then arguments+=(--constraint "$source/envs/lock.txt"); fi
python -m pip install "${arguments[@]}"
