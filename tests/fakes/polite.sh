#!/bin/sh
# Says goodbye when it is asked to go; with an argument, it then takes its time.
trap 'echo bye; sleep "${1:-0}"; exit 0' TERM
echo ready
while :; do sleep 0.01; done
