// Runs every suite of test-suites.ts, two at once where they leave room, shows the output of each in one piece with its time,
// repeats at the end what failed, and ends with one line over all of them: `N passed, N failed`.
// A check (lint, types, ...) counts as one; a Jest suite counts its tests. Nothing is skipped without a loud reason.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startGroup } from './process-group.ts';
import { endOf, failuresOf, readResult, slowest, timesOf, Turns } from './test-output.ts';
import { CANNOT_RUN, inOrder, suitesOf } from './test-suites.ts';

const root = dirname(import.meta.dirname);
process.chdir(root);
const scratch = mkdtempSync(join(tmpdir(), 'agent-compliance-test-'));
/** Where each cluster of a suite leaves what the product asked of its API server, for scripts/check-permissions.ts. */
const E2E_PERMISSIONS = join(scratch, 'rights');
mkdirSync(E2E_PERMISSIONS);
/** The tests start the same bundles some hundred times; Node.js compiles each once. */
const NODE_COMPILE_CACHE = join(scratch, 'compile-cache');
const total = { passed: 0, failed: 0, skipped: 0 };
/** Name of each failed suite, and what it said last. */
const failures = [];
/** Of every suite, for the list of the slowest. */
const times = [];
const SLOWEST = 20;
const turns = new Turns((text) => process.stdout.write(text));
const groups = new Set();
let isStopped = false;

/**
 * For programs in Go: compilers, linters, helm, kubectl and OPA end before their heap is large, and up to half of their
 * processor time went into garbage collection. From the limit on they collect it.
 */
const NO_GARBAGE_COLLECTION = { GOGC: 'off', GOMEMLIMIT: '1GiB' };

/** Characters of a suite's output that are kept for the end. */
const MAX_KEPT = 100_000;
const COLOURS = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};

/** Runs a command; resolves with its exit code and the end of its output, all of which `write` gets as it comes. */
async function run(command, write, { timeoutMinutes = 40 } = {}) {
  let output = '';
  const take = (text) => {
    output = (output + text).slice(-MAX_KEPT);
    write(text);
  };
  const group = startGroup(command, {
    env: { ...process.env, E2E_PERMISSIONS, NODE_COMPILE_CACHE, ...NO_GARBAGE_COLLECTION, ...COLOURS },
    write: take,
  });
  groups.add(group);
  const timer = setTimeout(() => {
    take(`\nended after ${timeoutMinutes} minutes\n`);
    group.end('SIGTERM');
  }, timeoutMinutes * 60_000);
  const code = await group.ended;
  clearTimeout(timer);
  groups.delete(group);
  return { code, output };
}

function count(name, { passed = 0, failed = 0, skipped = 0 }, said = []) {
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped;
  if (failed > 0) failures.push({ name, said });
}

async function runJest(suite, write) {
  const outputFile = join(scratch, `${suite.name.replaceAll(' ', '-')}.json`);
  const command = [...suite.jest, '--json', `--outputFile=${outputFile}`];
  const { code, output } = await run(command, write, { timeoutMinutes: suite.timeoutMinutes });
  const result = readResult(outputFile);
  if (result === null) return count(suite.name, { failed: 1 }, endOf(output));
  // A file that cannot even be loaded has no failed test, yet it failed.
  const failed = Math.max(result.numFailedTests + result.numRuntimeErrorTestSuites, code === 0 ? 0 : 1);
  const skipped = result.numPendingTests + result.numTodoTests;
  times.push(...timesOf(result, root));
  const said = failuresOf(result, root);
  count(
    suite.name,
    { passed: result.numPassedTests, failed, skipped },
    said.length > 0 ? said : endOf(output),
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
/** Whether this machine can have a cluster; says why not. */
async function clusterIsPossible(write) {
  if (process.env.E2E_KUBECONFIG) return true;
  check ??= run(['e2e/cluster/check.sh'], () => undefined);
  const { code, output } = await check;
  write(output);
  return code !== CANNOT_RUN;
}

/** Milliseconds that the processors have been idle, and that they have been there, all together. */
function processorTimes() {
  const times = cpus().map((cpu) => cpu.times);
  const sum = (of) => times.reduce((all, each) => all + of(each), 0);
  return { idle: sum(({ idle }) => idle), all: sum((each) => Object.values(each).reduce((a, b) => a + b)) };
}

/** How much of the machine was at work since then, whoever's work it was: what the order of the suites is judged by. */
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
    // A second Ctrl-C is from somebody who does not want to wait. A second SIGTERM comes from make, which passes on its own.
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
for (const { name, said } of failures) console.log(['', `-- failed: ${name}`, ...said].join('\n'));
if (isStopped) console.log('\nended by a signal before every suite had run');
if (failures.length > 0) console.log(`\nfailed: ${failures.map(({ name }) => name).join(', ')}`);
if (total.skipped > 0) console.log(`\n${total.skipped} skipped, for the reasons above`);
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exitCode = isStopped || total.failed > 0 || total.passed === 0 ? 1 : 0;
