#!/bin/bash
# hold.sh cluster|control - starts one, prints `ready`, and ends it when standard input ends. However the process that holds
# the other end of that pipe dies, nothing of the cluster outlives it. Variables are those of up.sh and control.sh.
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
case ${1:-} in
  cluster) up=("$here/up.sh") down=("$here/down.sh") ;;
  control) up=("$here/control.sh" up) down=("$here/control.sh" down) ;;
  *) echo "usage: hold.sh cluster|control" >&2; exit 2 ;;
esac
# This one has to stay for the clean-up, whatever its caller dies of.
# A handler rather than '': an ignored signal would stay ignored in everything that is started, the pods included.
trap : INT TERM HUP PIPE
if "${up[@]}" < /dev/null; then
  echo ready
  cat > /dev/null
  "${down[@]}"
else
  "${down[@]}"
  exit 1
fi
