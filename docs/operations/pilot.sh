#!/bin/sh
# A pilot of fleet for any scheduler: it takes part in the shared queue for as long as there is work.
# Kubernetes and Nomad run this file (pilot.kubernetes.yaml, pilot.nomad.hcl).
#
# FLEET_QUEUE         the address of the queue: postgresql://user@host/database
# FLEET_REPOSITORIES  addresses that this machine may fetch from and push work to, with a blank between
# FLEET_PILOT_SETUP   a shell script that is run once there is a home: logins, coders, settings
# FLEET_SLOTS         how many agents at once (2)
# FLEET_LABELS        what tasks may need of it (pilot)
# FLEET_HOST_NAME     what people call it (the name of the machine)
# FLEET_MAX_IDLE      how long it waits for more work (5m)
set -eu
: "${FLEET_QUEUE:?is the address of the queue: postgresql://user@host/database}"
# Two supervisors never share a home; this one is gone with the job.
export FLEET_HOME="${FLEET_HOME:-${TMPDIR:-/tmp}/fleet-pilot-$$}"
fleet init --queue "$FLEET_QUEUE" --permissions edit </dev/null
fleet config set max_concurrent="${FLEET_SLOTS:-2}" host_labels="${FLEET_LABELS:-pilot}" \
    host_name="${FLEET_HOST_NAME:-auto}"
for url in ${FLEET_REPOSITORIES:-}; do fleet trust --remote "$url"; done
if [ -n "${FLEET_PILOT_SETUP:-}" ]; then . "$FLEET_PILOT_SETUP"; fi
# The scheduler's SIGTERM reaches fleet, which gives its tasks back and ends.
fleet run --until-idle --max-idle "${FLEET_MAX_IDLE:-5m}" &
pilot=$!
trap 'kill -TERM "$pilot" 2>/dev/null || :' TERM INT
code=0
wait "$pilot" || code=$?
while kill -0 "$pilot" 2>/dev/null; do # a signal cut the waiting short
    code=0
    wait "$pilot" || code=$?
done
case $code in
0 | 10) # 10: tasks wait for a person, which is no failure of the job
    rm -rf "$FLEET_HOME"
    ;;
*) exit "$code" ;;
esac
