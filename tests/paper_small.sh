#!/bin/bash
# Make every table and figure of the paper from synthetic clips in the real layouts: `paper_small.sh FOLDER [CORES]`.
# Clips of 8 s at 160x120, two tasks of every dataset that has several, one seed, a few iterations. Its numbers mean nothing.
set -euo pipefail

cd "$(dirname "$0")/.."
folder=${1:?a folder for the clips and results}
cores=${2:-2}
mkdir -p "$folder/data"
export OMP_NUM_THREADS=1

clips() { # layout, folder, videos of a task, tasks
    python tests/write_tree.py "$folder/$2" "layout=$1" "n_videos=$3" min_s=8 max_s=8 width=160 height=120 "tasks=[$4]"
}
if [ ! -e "$folder/data/crosstask" ]; then
    clips egoprocel egoprocel 3 '"cmu_mmac/Brownie", "cmu_mmac/Eggs", "egtea_gaze/BaconAndEggs", "egtea_gaze/Cheeseburger", "epic_tents/tent", "pc_assembly/pc_assembly", "pc_disassembly/pc_disassembly"'
    # The ablation of training videos draws up to 14 videos.
    clips egoprocel egoprocel 17 '"meccano/meccano"'
    clips procel data/procel 3 '"make_coffee", "make_smoke_salmon_sandwich"'
    clips crosstask data/crosstask 3 '"16815", "40567"'
fi
exec snakemake --cores "$cores" --directory "$folder" --configfile config.yaml tests/small.yaml --quiet host reason rules -- paper
