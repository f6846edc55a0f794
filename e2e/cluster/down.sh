#!/bin/bash
# down.sh - ends the cluster NAME without a trace. The death of its first process kills every process in its pid namespace;
# with the last of them go its mounts, its network and its devices; then its cgroups and files are removed.
# Safe when nothing runs, and after a run that died half-way.
set -uo pipefail
. "$(dirname "$(readlink -f "$0")")/layout.sh"
. "$CLUSTER_DIR/cgroup.sh"
NAME=${NAME:-e2e}
RUN=$(run_dir "$NAME") || exit 2

# The holder is unshare; its child is the first process inside. up.sh may have died before it wrote the child's number down.
holder=$(cat "$RUN/holder.pid" 2>/dev/null) || holder=
init=$(cat "$RUN/init.pid" 2>/dev/null) || init=
if [ -n "$holder" ] && [ -z "$init" ]; then init=$(pgrep -P "$holder" -f node.sh) || init=; fi
for pid in $init $holder; do
  if runs "$pid" "node.sh $NAME"; then kill_and_wait "$pid" || exit 1; fi
done
remove_cgroup "$NAME" || exit 1
rm -rf "$RUN"
