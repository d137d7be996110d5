#!/bin/bash
# A pilot of fleet as a Slurm job: it takes part in the shared queue for as long as there is work.
#
#   sbatch --export=ALL,FLEET_QUEUE=postgresql://alpha@db.example.org/fleet --array=1-8 pilot.slurm.sh
#
# FLEET_REPOSITORIES  addresses that this node may fetch from and push work to, with a blank between
# FLEET_PILOT_SETUP   a shell script that is run once there is a home: logins, coders, settings
# FLEET_MAX_IDLE      how long the pilot waits for more work (5m)
#SBATCH --job-name=fleet-pilot
#SBATCH --time=04:00:00
#SBATCH --cpus-per-task=2
#SBATCH --signal=TERM@90
set -eu
: "${FLEET_QUEUE:?is the address of the queue: postgresql://user@host/database}"
# Two supervisors never share a home; this one is gone with the job.
export FLEET_HOME="${SLURM_TMPDIR:-/tmp}/fleet-pilot-$SLURM_JOB_ID"
fleet init --queue "$FLEET_QUEUE" --permissions edit </dev/null
fleet config set max_concurrent="${SLURM_CPUS_PER_TASK:-2}" host_labels=slurm \
    host_name="slurm-$SLURM_JOB_ID"
for url in ${FLEET_REPOSITORIES:-}; do fleet trust --remote "$url"; done
if [ -n "${FLEET_PILOT_SETUP:-}" ]; then . "$FLEET_PILOT_SETUP"; fi
# As a step of its own, fleet is told of scancel and of the time limit: it gives its tasks back.
code=0
srun --ntasks=1 fleet run --until-idle --max-idle "${FLEET_MAX_IDLE:-5m}" || code=$?
case $code in
0 | 10) # 10: tasks wait for a person, which is no failure of the job
    rm -rf "$FLEET_HOME"
    ;;
*) exit "$code" ;;
esac
