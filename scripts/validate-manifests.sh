#!/usr/bin/env bash
# validate-manifests.sh FILE... - the pre-commit hook: validates every file, and exits with 1 if one is not valid or has a
# warning, such as a secret in the file.
set -uo pipefail
command -v platform > /dev/null || { echo "platform is not installed: npm install --global agent-compliance" >&2; exit 1; }
code=0
for file in "$@"; do platform validate --strict "$file" || code=1; done
exit "$code"
