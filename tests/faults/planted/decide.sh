#!/bin/sh
# The program that is started once for each input. A shell starts much faster than Python, which
# takes over where a fault strikes.
sex=$1 age=$2 owns=$3
if [ -n "$FAULT" ]; then
    if [ "$FAULT_AT" = every ] || { [ "$age" = 47 ] && [ "$owns" = yes ]; }; then
        exec "$FAULT_PYTHON" -S -E program.py "$@"
    fi
fi
if [ -n "$FAULT_LOG" ]; then
    printf '{"age": "%s", "owns": "%s", "sex": "%s"}\n' "$age" "$owns" "$sex" >> "$FAULT_LOG"
fi
if [ -n "$FAULT_PAUSE" ]; then
    sleep "$FAULT_PAUSE"
fi
bound=35
if [ "$FAULT_BIAS" = 1 ] && [ "$sex" = F ]; then
    bound=45
fi
if [ "$age" -gt "$bound" ]; then
    echo approve
else
    echo deny
fi
