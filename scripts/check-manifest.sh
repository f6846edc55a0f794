#!/usr/bin/env bash
# check-manifest.sh - the steps of the GitHub Action (action.yaml): annotates the lines of the manifest, writes the summary of the
# job, and exits with 1 if the manifest is not valid, has a warning, breaks a Deny rule, or its declared score is too low.
#   MANIFEST    path of the manifest (default agent.yaml)
#   FAIL_BELOW  lowest accepted declared score (default 0)
#   BASE        git revision to compare with; empty: no comparison
#   SARIF       file for the SARIF report; empty: none
#   POLICY      file or directory with the organisation's rules; empty: none
#   NAMESPACE, NAMESPACE_LABELS   the namespace, and its labels as key=value, separated by spaces; for POLICY
set -euo pipefail
MANIFEST=${MANIFEST:-agent.yaml} FAIL_BELOW=${FAIL_BELOW:-0} SUMMARY=${GITHUB_STEP_SUMMARY:-/dev/null}

if ! platform validate "$MANIFEST" --strict --format github; then
  platform validate "$MANIFEST" --strict --format markdown >> "$SUMMARY" || true
  exit 1
fi
if [ -n "${BASE:-}" ]; then
  platform diff "$BASE:./$MANIFEST" "$MANIFEST" --format markdown >> "$SUMMARY" ||
    echo "::notice file=$MANIFEST::no comparison with $BASE"
fi
RULES=()
if [ -n "${POLICY:-}" ]; then
  RULES=(--policy "$POLICY")
  if [ -n "${NAMESPACE:-}" ]; then RULES+=(--namespace "$NAMESPACE"); fi
  for label in ${NAMESPACE_LABELS:-}; do RULES+=(--namespace-label "$label"); done
fi
# Bash 3.2 treats an empty array as not set.
audit() { platform audit "$MANIFEST" ${RULES[@]+"${RULES[@]}"} "$@"; }
# The last audit decides and prints the errors; the others write the same findings elsewhere.
if [ -n "${SARIF:-}" ]; then audit --format sarif > "$SARIF" 2> /dev/null || true; fi
audit --format markdown >> "$SUMMARY" 2> /dev/null || true
audit --format github --fail-below "$FAIL_BELOW"
