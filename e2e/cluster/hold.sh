#!/bin/bash
# hold.sh cluster|control - starts a cluster or control plane, prints `ready`, and stops it when standard input ends. So nothing
# remains, however the process at the other end of the pipe dies. Uses the variables of up.sh and control.sh.
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
case ${1:-} in
  cluster) up=("$here/up.sh") down=("$here/down.sh") ;;
  control) up=("$here/control.sh" up) down=("$here/control.sh" down) ;;
  *) echo "usage: hold.sh cluster|control" >&2; exit 2 ;;
esac
# This process must survive signals for the clean-up.
# An empty handler instead of '', because child processes, including the pods, would inherit ignored signals.
trap : INT TERM HUP PIPE
if "${up[@]}" < /dev/null; then
  echo ready
  cat > /dev/null
  "${down[@]}"
else
  "${down[@]}"
  exit 1
fi
