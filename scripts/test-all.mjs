// Runs every suite of test-suites.ts, up to two at the same time. Prints the output of each suite as one block with its
// duration, repeats the failures at the end, and ends with the summary line `N passed, N failed`.
// A check (lint, types, ...) counts as one; a Jest suite counts its tests. Every skipped suite prints a reason.
// A script and not a task runner, because it needs one last line for all suites, the output of concurrent suites in one block
// each, and never more busy processes than cores.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startGroup } from './process-group.ts';
import { endOf, failuresOf, readResult, slowest, timesOf, Turns } from './test-output.ts';
import { CANNOT_RUN, inOrder, suitesOf } from './test-suites.ts';

const root = dirname(import.meta.dirname);
process.chdir(root);
const scratch = mkdtempSync(join(tmpdir(), 'agent-compliance-test-'));
/** Directory in which each cluster records the product's API requests, for scripts/check-permissions.ts. */
const E2E_PERMISSIONS = join(scratch, 'permissions');
mkdirSync(E2E_PERMISSIONS);
/** The tests start the same bundles hundreds of times; with this cache Node.js compiles each bundle once. */
const NODE_COMPILE_CACHE = join(scratch, 'compile-cache');
const total = { passed: 0, failed: 0, skipped: 0 };
/** Name and last output of each failed suite. */
const failures = [];
/** Test times of every suite, for the list of the slowest tests. */
const times = [];
const SLOWEST = 20;
const turns = new Turns((text) => process.stdout.write(text));
const groups = new Set();
let isStopped = false;

/**
 * For Go programs: compilers, linters, helm, kubectl and OPA end before their heap is large, and garbage collection took up
 * to half of their CPU time. Above the memory limit they still collect garbage.
 */
const NO_GARBAGE_COLLECTION = { GOGC: 'off', GOMEMLIMIT: '1GiB' };

/** Number of characters of a suite's output to keep for the summary. */
const MAX_KEPT = 100_000;
const COLOURS = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};

/** Runs a command and passes its output to `write`; resolves with the exit code and the end of the output. */
async function run(command, write, { timeoutMinutes = 40 } = {}) {
  let output = '';
  const append = (text) => {
    output = (output + text).slice(-MAX_KEPT);
    write(text);
  };
  const group = startGroup(command, {
    env: { ...process.env, E2E_PERMISSIONS, NODE_COMPILE_CACHE, ...NO_GARBAGE_COLLECTION, ...COLOURS },
    write: append,
  });
  groups.add(group);
  const timer = setTimeout(() => {
    append(`\ntimed out after ${timeoutMinutes} minutes\n`);
    group.end('SIGTERM');
  }, timeoutMinutes * 60_000);
  const code = await group.ended;
  clearTimeout(timer);
  groups.delete(group);
  return { code, output };
}

function count(name, { passed = 0, failed = 0, skipped = 0 }, lines = []) {
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped;
  if (failed > 0) failures.push({ name, lines });
}

async function runJest(suite, write) {
  const outputFile = join(scratch, `${suite.name.replaceAll(' ', '-')}.json`);
  const command = [...suite.jest, '--json', `--outputFile=${outputFile}`];
  const { code, output } = await run(command, write, { timeoutMinutes: suite.timeoutMinutes });
  const result = readResult(outputFile);
  if (result === null) return count(suite.name, { failed: 1 }, endOf(output));
  // A file that cannot be loaded has no failed test but counts as failed.
  const failed = Math.max(result.numFailedTests + result.numRuntimeErrorTestSuites, code === 0 ? 0 : 1);
  const skipped = result.numPendingTests + result.numTodoTests;
  times.push(...timesOf(result, root));
  const lines = failuresOf(result, root);
  count(
    suite.name,
    { passed: result.numPassedTests, failed, skipped },
    lines.length > 0 ? lines : endOf(output),
  );
}

async function runCheck(suite, write) {
  const { code, output } = await run(suite.command, write, { timeoutMinutes: suite.timeoutMinutes });
  if (suite.maySkip === true && code === CANNOT_RUN) {
    write(`SKIPPED: ${suite.name} (see the reason above)\n`);
    count(suite.name, { skipped: 1 });
  } else if (code === 0) count(suite.name, { passed: 1 });
  else count(suite.name, { failed: 1 }, endOf(output));
}

let check;
/** Whether this machine can run a cluster; prints the reason if not. */
async function clusterIsPossible(write) {
  if (process.env.E2E_KUBECONFIG) return true;
  check ??= run(['e2e/cluster/check.sh'], () => undefined);
  const { code, output } = await check;
  write(output);
  return code !== CANNOT_RUN;
}

/** Idle and total milliseconds of all processors. */
function processorTimes() {
  const times = cpus().map((cpu) => cpu.times);
  const sum = (of) => times.reduce((all, each) => all + of(each), 0);
  return { idle: sum(({ idle }) => idle), all: sum((each) => Object.values(each).reduce((a, b) => a + b)) };
}

/** Processor utilisation of the whole machine since `before`, in percent; used to tune the order of the suites. */
function busySince(before) {
  const now = processorTimes();
  return Math.round(100 - (100 * (now.idle - before.idle)) / (now.all - before.all || 1));
}

async function runSuite(suite) {
  const [started, before] = [performance.now(), processorTimes()];
  const { write, end } = turns.open();
  write(`\n== ${suite.name}\n`);
  if (suite.needsCluster && !(await clusterIsPossible(write))) {
    write(
      `SKIPPED: ${suite.name} (see the reason above; with Docker: e2e/cluster/kind.sh up, then E2E_KUBECONFIG=... make e2e)\n`,
    );
    count(suite.name, { skipped: 1 });
  } else await (suite.jest ? runJest : runCheck)(suite, write);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  write(`== ${suite.name}: ${seconds} s, machine ${busySince(before)} % busy\n`);
  end();
}

for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    // A second Ctrl-C means that the user does not want to wait. A second SIGTERM comes from make, which forwards signals.
    if (isStopped && signal === 'SIGINT') for (const group of groups) group.end('SIGKILL');
    else if (!isStopped) for (const group of groups) group.end(signal);
    isStopped = true;
    turns.flush();
  });

const only = process.argv.find((argument) => argument.startsWith('--only='))?.slice('--only='.length);
const [startedAt, processorsAtStart] = [performance.now(), processorTimes()];
await inOrder(suitesOf(only), runSuite, () => isStopped);
rmSync(scratch, { recursive: true, force: true });
if (times.length > 0) console.log(['', `-- slowest ${SLOWEST} tests`, ...slowest(times, SLOWEST)].join('\n'));
const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
console.log(`\nall suites: ${minutes} min, machine ${busySince(processorsAtStart)} % busy`);
for (const { name, lines } of failures) console.log(['', `-- failed: ${name}`, ...lines].join('\n'));
if (isStopped) console.log('\ninterrupted by a signal before all suites had run');
if (failures.length > 0) console.log(`\nfailed: ${failures.map(({ name }) => name).join(', ')}`);
if (total.skipped > 0) console.log(`\n${total.skipped} skipped; see the reasons above`);
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exitCode = isStopped || total.failed > 0 || total.passed === 0 ? 1 : 0;
