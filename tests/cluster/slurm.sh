#!/bin/bash
# A Slurm of one node on this machine, from Debian's packages: `slurm.sh start DIR`, `slurm.sh stop DIR`.
# Root is needed for the daemons and for /etc/slurm/slurm.conf. The configuration must be there because the executor
# plugin drops the variables SLURM_* inside jobs, including SLURM_CONF.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
action=${1:?start or stop}
dir=$(mkdir -p "${2:?a folder for state and logs}" && cd "$2" && pwd)
conf=/etc/slurm/slurm.conf

start() {
    if ! command -v slurmctld slurmd munged >/dev/null; then
        echo "slurm.sh: no Slurm here; installing Debian's packages"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq slurm-wlm munge >/dev/null
    fi
    if [ -e "$conf" ] && ! grep -q "^StateSaveLocation=$dir/state$" "$conf"; then
        echo "slurm.sh: $conf is there already and not ours; remove it, or test on a machine without a Slurm" >&2
        exit 1
    fi
    mkdir -p "$dir/state" "$dir/spool" /etc/slurm /run/munge
    # Not `nproc`, whose answer OMP_NUM_THREADS changes. A tenth of the memory is left to the daemons and the tests.
    sed -e "s|@HOST@|$(hostname -s)|" -e "s|@DIR@|$dir|" -e "s|@CPUS@|$(getconf _NPROCESSORS_ONLN)|" \
        -e "s|@MEMORY@|$(awk '/MemTotal/ {print int($2 / 1024 * 0.9)}' /proc/meminfo)|" \
        "$here/slurm.conf.template" > "$conf"
    echo "NodeName=$(hostname -s) Name=gpu File=/dev/zero" > "$(dirname "$conf")/gres.conf"
    chown munge: /run/munge
    pgrep -x munged >/dev/null || { runuser -u munge -- munged && cp /run/munge/munged.pid "$dir/munged.pid"; }
    pgrep -x slurmctld >/dev/null || slurmctld
    pgrep -x slurmd >/dev/null || slurmd
    for _ in $(seq 60); do
        if sinfo --noheader --format=%T 2>/dev/null | grep -q '^idle$'; then
            sinfo
            return
        fi
        sleep 1
    done
    echo "slurm.sh: the node did not become idle within 60 s; see $dir/slurmctld.log and $dir/slurmd.log" >&2
    exit 1
}

# End only the processes that were started here, by their numbers.
stop() {
    if ! grep -q "^StateSaveLocation=$dir/state$" "$conf" 2>/dev/null; then
        echo "slurm.sh: no Slurm was started in $dir"
        return
    fi
    scancel --user root 2>/dev/null || true
    for daemon in slurmd slurmctld munged; do
        if [ -s "$dir/$daemon.pid" ]; then
            kill "$(cat "$dir/$daemon.pid")" 2>/dev/null || true
        fi
    done
    rm -f "$conf" "$(dirname "$conf")/gres.conf" "$dir/munged.pid"
    # Wait for the daemons to end, or else the next start could take the old controller for its own.
    for _ in $(seq 20); do
        pgrep -x slurmctld >/dev/null || pgrep -x slurmd >/dev/null || return 0
        sleep 0.5
    done
}

"$action"
