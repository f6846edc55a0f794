#!/bin/bash
# down.sh - removes the cluster NAME completely. When its first process ends, the kernel kills all processes in its pid namespace
# and removes its mounts, network and devices. Then the script removes its cgroups and files.
# Also works if nothing runs, and after an aborted run.
set -uo pipefail
. "$(dirname "$(readlink -f "$0")")/layout.sh"
. "$CLUSTER_DIR/cgroup.sh"
NAME=${NAME:-e2e}
RUN=$(run_dir "$NAME") || exit 2

# The holder is unshare; its child is the first process inside. up.sh may have died before it recorded the child's pid.
holder=$(cat "$RUN/holder.pid" 2>/dev/null) || holder=
init=$(cat "$RUN/init.pid" 2>/dev/null) || init=
if [ -n "$holder" ] && [ -z "$init" ]; then init=$(pgrep -P "$holder" -f node.sh) || init=; fi
for pid in $init $holder; do
  if runs "$pid" "node.sh $NAME"; then kill_and_wait "$pid" || exit 1; fi
done
remove_cgroup "$NAME" || exit 1
rm -rf "$RUN"
