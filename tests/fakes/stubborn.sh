#!/bin/sh
# Heeds no polite signal, and neither does a child of its in a session of its own.
trap '' TERM INT HUP
setsid sh -c 'trap "" TERM INT HUP; while :; do sleep 60; done' &
echo ready
while :; do sleep 60; done
