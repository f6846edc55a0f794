#!/usr/bin/env bash
# check-manifest.sh - the steps of the GitHub Action (action.yaml): annotates the lines of the manifest, writes the summary of the
# job, and exits with 1 if the manifest is not valid, has a warning, or its declared score is too low.
#   MANIFEST    path of the manifest (default agent.yaml)
#   FAIL_BELOW  lowest accepted declared score (default 0)
#   BASE        git revision to compare with; empty: no comparison
#   SARIF       file for the SARIF report; empty: none
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
if [ -n "${SARIF:-}" ]; then platform audit "$MANIFEST" --format sarif > "$SARIF"; fi
platform audit "$MANIFEST" --format markdown >> "$SUMMARY"
platform audit "$MANIFEST" --format github --fail-below "$FAIL_BELOW"
