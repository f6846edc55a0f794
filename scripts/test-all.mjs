// Runs every suite in order, shows each one's time, and ends with one line over all of them: `N passed, N failed`.
// A check (lint, types, ...) counts as one; a Jest suite counts its tests. Nothing is skipped without a loud reason.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const root = dirname(import.meta.dirname);
process.chdir(root);
const scratch = mkdtempSync(join(tmpdir(), 'agent-compliance-test-'));
const total = { passed: 0, failed: 0, skipped: 0 };
const failures = [];

const jest = (project, ...flags) => [
  'node',
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  'node_modules/jest/bin/jest.js',
  '--selectProjects',
  project,
  ...flags,
];
const npm = (script) => ['npm', 'run', '--silent', script];

/** Exit code of a script that means: this machine cannot have what it brings, and the reason is printed. */
const CANNOT_RUN = 3;

const SUITES = [
  { name: 'format', group: 'check', command: npm('format:check') },
  { name: 'lint', group: 'check', command: npm('lint') },
  { name: 'types', group: 'check', command: npm('typecheck') },
  { name: 'layers', group: 'check', command: npm('layers') },
  { name: 'dead code', group: 'check', command: npm('dead-code') },
  { name: 'generated files', group: 'check', command: npm('generate:check') },
  { name: 'build', group: 'build', command: npm('build') },
  { name: 'unit', group: 'unit', jest: jest('unit') },
  { name: 'test servers', group: 'integration', command: ['scripts/debian-servers.sh'], maySkip: true },
  { name: 'cluster binaries', group: 'cluster', command: ['e2e/cluster/build.sh'], needsCluster: true },
  { name: 'images', group: 'cluster', command: ['e2e/images/build.sh'], needsCluster: true },
  {
    name: 'integration',
    group: 'integration',
    jest: jest('integration'),
    timeoutMinutes: 30,
    wants: ['cluster'],
  },
  // Alone: it compares what the machine looks like before and after a cluster.
  {
    name: 'cluster',
    group: 'e2e',
    jest: jest('e2e', '--runInBand', '--testPathPatterns', 'e2e/(cluster|images)/'),
    needsCluster: true,
    wants: ['cluster', 'build'],
  },
  // Each file has a cluster of its own and mostly waits for it, so two at a time.
  {
    name: 'product in the cluster',
    group: 'e2e',
    jest: jest('e2e', '--maxWorkers=2', '--testPathPatterns', 'e2e/[^/]+\\.test\\.ts$'),
    needsCluster: true,
    timeoutMinutes: 30,
    wants: ['cluster', 'build'],
  },
];

function chosen() {
  const only = process.argv.find((argument) => argument.startsWith('--only='))?.slice('--only='.length);
  if (only === undefined) return SUITES;
  const wanted = new Set([
    only,
    ...SUITES.filter((suite) => suite.group === only).flatMap((suite) => suite.wants ?? []),
  ]);
  const suites = SUITES.filter((suite) => wanted.has(suite.group));
  if (suites.length === 0)
    throw new Error(
      `--only=${only}: must be one of ${[...new Set(SUITES.map((suite) => suite.group))].join(', ')}`,
    );
  return suites;
}

function run(command, timeoutMinutes = 40) {
  return new Promise((resolve) => {
    const child = spawn(command[0], command.slice(1), { stdio: ['ignore', 'inherit', 'inherit'] });
    // SIGTERM first: Jest's teardown ends the cluster and the children that its tests started.
    const timers = [
      setTimeout(() => child.kill('SIGTERM'), timeoutMinutes * 60_000),
      setTimeout(() => child.kill('SIGKILL'), (timeoutMinutes + 1) * 60_000),
    ];
    const done = (code) => {
      for (const timer of timers) clearTimeout(timer);
      resolve(code);
    };
    child.once('error', (error) => {
      console.error(error.message);
      done(127);
    });
    child.once('exit', (code, signal) => done(signal === null ? code : 1));
  });
}

function count(name, passed, failed, skipped) {
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped;
  if (failed > 0) failures.push(name);
}

async function runJest(suite) {
  const outputFile = join(scratch, `${suite.name.replaceAll(' ', '-')}.json`);
  const code = await run([...suite.jest, '--json', `--outputFile=${outputFile}`], suite.timeoutMinutes);
  if (!existsSync(outputFile)) return count(suite.name, 0, 1, 0);
  const result = JSON.parse(readFileSync(outputFile, 'utf8'));
  // A file that cannot even be loaded has no failed test, yet it failed.
  const failed = Math.max(result.numFailedTests + result.numRuntimeErrorTestSuites, code === 0 ? 0 : 1);
  count(suite.name, result.numPassedTests, failed, result.numPendingTests + result.numTodoTests);
}

let clusterReason;
async function clusterIsPossible() {
  if (process.env.E2E_KUBECONFIG) return true;
  clusterReason ??= await run(['e2e/cluster/check.sh']);
  return clusterReason !== CANNOT_RUN;
}

for (const suite of chosen()) {
  const started = performance.now();
  console.log(`\n== ${suite.name}`);
  if (suite.needsCluster && !(await clusterIsPossible())) {
    console.log(
      `SKIPPED: ${suite.name} (see the reason above; with Docker: e2e/cluster/kind.sh up, then E2E_KUBECONFIG=... make e2e)`,
    );
    count(suite.name, 0, 0, 1);
  } else if (suite.jest) {
    await runJest(suite);
  } else {
    const code = await run(suite.command);
    const isSkipped = suite.maySkip === true && code === CANNOT_RUN;
    if (isSkipped) console.log(`SKIPPED: ${suite.name} (see the reason above)`);
    count(suite.name, code === 0 ? 1 : 0, code === 0 || isSkipped ? 0 : 1, isSkipped ? 1 : 0);
  }
  console.log(`== ${suite.name}: ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

rmSync(scratch, { recursive: true, force: true });
if (failures.length > 0) console.log(`\nfailed: ${failures.join(', ')}`);
if (total.skipped > 0) console.log(`\n${total.skipped} skipped, for the reasons above`);
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
