#!/bin/sh
# Leaves N processes behind that heed no SIGTERM, each in a session of its own, and ends.
i=0
while [ "$i" -lt "$1" ]; do
    setsid sh -c 'trap "" TERM; echo up; while :; do sleep 60; done' &
    i=$((i + 1))
done
while [ "$(grep -c up "$2")" -lt "$1" ]; do sleep 0.01; done
