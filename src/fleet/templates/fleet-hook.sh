#!/bin/sh
# Called by an agent's CLI with the name of an event: after each tool and before the agent ends,
# to hand over what a person told it; and before each command, if the tripwire is to refuse some.
# It is called all the time: without news it starts no other program.
event=$1

if [ "$event" = PreToolUse ]; then
    asked=$(cat)
    case ${asked#*\"tool_input\"} in
    @HINTS@) printf '%s' "$asked" | exec @PYTHON@ -P -m fleet.tripwire.hook ;;
    esac
    exit 0
fi

[ "$FLEET_SPOOL" ] && cd "$FLEET_SPOOL/messages" 2>/dev/null || exit 0
set -- *.waiting
[ -e "$1" ] || exit 0
# A sub-agent's tools end here too; the message is for the agent itself.
case $(cat) in *'"agent_id"'*) exit 0 ;; esac
words=
for name; do
    mine=${name%.waiting}.given
    # Two tools may end at once: the one that renames the file hands it over.
    mv "$name" "$mine" 2>/dev/null && words=$words$(cat "$mine")
done
[ "$words" ] || exit 0
if [ "$event" = Stop ]; then
    printf '{"decision":"block","reason":"%s"}\n' "$words"
else
    printf '{"hookSpecificOutput":{"hookEventName":"%s","additionalContext":"%s"}}\n' \
        "$event" "$words"
fi
