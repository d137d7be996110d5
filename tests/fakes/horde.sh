#!/bin/sh
# N children that heed no SIGTERM, each in a session of its own, and a parent that does not either.
trap '' TERM
i=0
while [ "$i" -lt "$1" ]; do
    setsid sh -c 'trap "" TERM; while :; do sleep 60; done' &
    i=$((i + 1))
done
echo ready
while :; do sleep 60; done
