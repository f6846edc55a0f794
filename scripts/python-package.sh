#!/bin/bash
# python-package.sh - checks the Python packages: ruff, mypy, oldest version, tests with coverage, wheels and sdists.
#
# Installs the tools of python/requirements-test.txt into a cache directory named after the hash of that file.
# The tests run with the first Python found, which measures coverage, and with the oldest; with SOAK=1 with every
# Python from 3.10 to 3.14 that this machine has. A test that hangs ends with its stacks (faulthandler_timeout).
# The last line is that of the tests. Exit 3: not supported on this machine; the reason is printed.
set -euo pipefail
ROOT=$(cd "$(dirname "$0")/.." && pwd)
CACHE=${AGENT_COMPLIANCE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/agent-compliance}/python-package
LOCK=$ROOT/python/requirements-test.txt
# Of each distribution: docs/decisions/0084-write-the-python-package-without-dependencies.md.
MAX_WHEEL_BYTES=60000
# The import of Reporter, in percent of bare `python -c pass`: processor time of the fastest of 15 runs.
MAX_IMPORT=150

PYTHONS=()
VERSIONS=" "
# The order of framework-packages.sh: the tests of the integrations need the Python of its packages.
for each in python3.11 python3.12 python3.13 python3.10 python3.14 python3 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[0-4].*/bin/python3; do
  version=$("$each" -c 'import sys, venv, ensurepip; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
  case $version in 3.1[0-4]) ;; *) continue ;; esac
  case $VERSIONS in *" $version "*) continue ;; esac
  VERSIONS="$VERSIONS$version "
  PYTHONS+=("$each")
done
if [ "${#PYTHONS[@]}" = 0 ]; then
  echo "Python 3.10 to 3.14 with venv is missing: required by the checks of the Python package"
  exit 3
fi

FOLDER=$CACHE/$("${PYTHONS[0]}" -c 'import sys; print(sys.version.split()[0])')-$(sha256sum "$LOCK" | cut -c1-16)
mkdir -p "$CACHE"
exec 9> "$CACHE/lock"
flock 9
if ! [ -e "$FOLDER/.complete" ]; then
  rm -rf "$FOLDER"
  echo "installing tools into $FOLDER"
  "${PYTHONS[0]}" -m venv "$FOLDER"
  "$FOLDER/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: -r "$LOCK"
  touch "$FOLDER/.complete"
fi
flock -u 9

SCRATCH=$(mktemp -d)
trap 'rm -rf "$SCRATCH"' EXIT
cp -r "$ROOT/python" "$SCRATCH/python"
# Tests compare the package with the documentation and with the packages of the framework matrix.
ln -s "$ROOT/docs" "$ROOT/testing" "$SCRATCH"
cd "$SCRATCH/python"
export PATH=$FOLDER/bin:$PATH PYTHONDONTWRITEBYTECODE=1

ruff check --quiet --no-cache .
ruff format --quiet --no-cache --check .
mypy --no-incremental --cache-dir=/dev/null
vermin --target=3.10- --no-tips --violations --quiet src integrations/src
if command -v pyright >/dev/null; then pyright; else echo "pyright is not installed: strict types are checked by mypy only"; fi

PACKAGES=$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# install PACKAGE...: into the empty environment. The path has the build backend for the sdist.
install() {
  PYTHONPATH=$PACKAGES python -m pip --python "$SCRATCH/empty/bin/python" install --quiet --disable-pip-version-check \
    --no-index --no-build-isolation "$@"
}
# The wheels are built from the sdists, so all are complete.
for each in . integrations; do python -m build --no-isolation --outdir "$SCRATCH/dist" "$each" >/dev/null; done
for core in "$SCRATCH"/dist/agent_compliance-[0-9]*; do
  python -m venv --without-pip "$SCRATCH/empty"
  install "$core"
  # Not from the directory of the sources, and with no other package.
  (cd "$SCRATCH/empty" && bin/python -I - <<'PYTHON'
import pathlib
import agent_compliance
from agent_compliance import Reporter
from agent_compliance.integrations import django, fastapi, flask, starlette

folder = pathlib.Path(agent_compliance.__file__).parent
assert (folder / "py.typed").is_file()
manifest = {"metadata": {"name": "a"}, "spec": {"model": {"provider": "p", "id": "m", "apiKey": "k"}}}
reporter = Reporter(manifest, env={})
reporter.start()
assert reporter.get_report()["agentName"] == "a"
reporter.stop()
try:
    from agent_compliance.integrations import langchain
except ImportError as error:
    assert 'pip install "agent-compliance[langchain]"' in str(error), error
else:
    raise AssertionError("the core contains langchain")
PYTHON
  )
  for others in "$SCRATCH"/dist/agent_compliance_integrations-*; do
    install "$others"
    (cd "$SCRATCH/empty" && bin/python -I -c '
from agent_compliance.integrations import autogen, crewai, fastapi, fastmcp, langchain, openai_agents, pydantic_ai
from agent_compliance.integrations.langchain import Handler')
    # Each can be uninstalled without the other.
    python -m pip --python "$SCRATCH/empty/bin/python" uninstall --quiet --disable-pip-version-check --yes agent-compliance-integrations
    (cd "$SCRATCH/empty" && bin/python -I -c 'from agent_compliance.integrations import fastapi')
  done
  rm -rf "$SCRATCH/empty"
done
for wheel in "$SCRATCH"/dist/*.whl; do
  SIZE=$(stat -c %s "$wheel")
  echo "wheel: $SIZE bytes: ${wheel##*/}"
  if [ "$SIZE" -ge "$MAX_WHEEL_BYTES" ]; then echo "the wheel has $MAX_WHEEL_BYTES bytes or more"; exit 1; fi
done

python - "$SCRATCH/python/src" "$MAX_IMPORT" <<'PYTHON'
import compileall, os, resource, subprocess, sys

source, limit = sys.argv[1], int(sys.argv[2])
compileall.compile_dir(source, quiet=2)
code = f"import sys; sys.path.insert(0, {source!r})\nimport agent_compliance"

def seconds(program):
    """Processor time of a process: other processes on this machine change it little."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

programs = ("pass", code, f"{code}\nfrom agent_compliance import Reporter")
least = [float("inf")] * len(programs)
# In turn, so that a slow phase of the machine affects all of them. More rounds can only lower the least times, so that a machine that
# is slow for a while needs more of them, and code that is too slow fails after the last one.
for round in range(90):
    least = [min(known, seconds(program)) for known, program in zip(least, programs)]
    if round >= 14 and least[2] / least[0] * 100 <= limit:
        break
bare, imported, reporter = least
print(f"import: {imported / bare:.2f} times bare Python, with Reporter {reporter / bare:.2f}")
sys.exit(reporter / bare * 100 > limit)
PYTHON

# pytest_with OUTPUT COMMAND...: the whole output if a test fails or hangs. TESTS: a file; default: all.
pytest_with() {
  local output=$1
  shift
  # The second limit is for a process that does not end after its tests.
  timeout --kill-after=30 1200 "$@" -m pytest -p no:cacheprovider ${TESTS:+"$TESTS"} > "$output" 2>&1 && return
  local status=$?
  cat "$output"
  echo "failed with exit code $status: $*"
  return 1
}

OTHERS=("${PYTHONS[@]:1}")
if [ "${SOAK:-}" != 1 ] && [ "${#OTHERS[@]}" -gt 1 ]; then
  OLDEST=$(for each in "${OTHERS[@]}"; do "$each" -c 'import sys; print(sys.version_info[1], sys.argv[1])' "$each"; done | sort -n | head -n 1)
  OTHERS=("${OLDEST#* }")
fi
FAILED=0
for each in "${OTHERS[@]}"; do
  echo "tests with $("$each" --version)"
  # The packages of the tests are pure Python.
  PYTHONPATH=src:integrations/src:$PACKAGES pytest_with "$SCRATCH/tests" "$each" || { FAILED=1; continue; }
  tail -n 1 "$SCRATCH/tests"
done
# Both major versions of the package mcp cannot be in one environment.
if [ "${SOAK:-}" = 1 ] && MCP_2=$("$ROOT/scripts/framework-packages.sh" mcp-2 | tail -n 1); then
  AGENT_COMPLIANCE_FRAMEWORKS=$MCP_2 TESTS=tests/integrations/test_fastmcp.py PYTHONPATH=src:integrations/src \
    pytest_with "$SCRATCH/tests" python || FAILED=1
fi
MEASURED=()
# They take 100 s. In `make test`, testing/frameworks/integrations.integration.test.ts runs agents with some of the integrations.
if [ "${SOAK:-}" != 1 ]; then
  FRAMEWORKS="they run in make soak"
elif FRAMEWORKS=$("$ROOT/scripts/framework-packages.sh" python --installed); then
  export AGENT_COMPLIANCE_FRAMEWORKS=$FRAMEWORKS
fi
if [ -z "${AGENT_COMPLIANCE_FRAMEWORKS:-}" ]; then
  echo "without the tests of the integrations: $FRAMEWORKS"
  MEASURED=(--omit "*/integrations/*")
fi
PYTHONPATH=src:integrations/src pytest_with "$SCRATCH/tests" python -m coverage run || exit 1
python -m coverage report --fail-under=95 --precision=1 "${MEASURED[@]}"
tail -n 1 "$SCRATCH/tests"
exit "$FAILED"
