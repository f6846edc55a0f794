import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AgentHistory } from '../../core/shapes/history.ts';
import { COMPILE_CACHE } from '../../testing/machine/compile-cache.ts';
import { isListening } from '../../testing/machine/is-listening.ts';
import { findPython } from './find-python.ts';

const run = promisify(execFile);
const MAIN = join(import.meta.dirname, 'main.ts');
const PYTHON = findPython();
const hasPython = 'command' in PYTHON;
if (!hasPython) process.stderr.write(`SKIPPED: the agent in Python of the demo: ${PYTHON.missing}\n`);
/** Each agent has three ports, two of them have lanes, and the control plane and the vendor of the model have one. */
const PORTS = hasPython ? 22 : 19;

let folder: string;
let demo: ChildProcess;
let output: { stdout: string; stderr: string };
let exited: Promise<number | null>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'demo-test-'));
});
afterEach(async () => {
  demo.kill('SIGTERM');
  await exited;
  rmSync(folder, { recursive: true });
});

function startDemo(env: Record<string, string>): void {
  output = { stdout: '', stderr: '' };
  // TMPDIR: files left by the demo are visible in the test's directory.
  demo = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env['PATH'] ?? '', TMPDIR: folder, ...COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  demo.stdout?.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()));
  demo.stderr?.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()));
  exited = new Promise((resolve) => demo.once('exit', resolve));
}

async function shown(text: string): Promise<void> {
  const deadline = Date.now() + 200_000;
  while (!output.stdout.includes(text)) {
    if (Date.now() > deadline || demo.exitCode !== null)
      throw new Error(`${text} was not shown:\n${output.stdout}\n${output.stderr}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Ports of the demo that are still in use, and files that it left. */
async function leftBehind(): Promise<{ named: number; listening: number[]; files: string[] }> {
  const ports = new Set([...output.stdout.matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port)));
  const states = await Promise.all([...ports].map(async (port) => [port, await isListening(port)] as const));
  return {
    named: ports.size,
    listening: states.filter(([, listening]) => listening).map(([port]) => port),
    files: readdirSync(folder),
  };
}

/** The dashboard is served at the printed address, and the API has with the printed key what it shows: ten seeded minutes. */
async function expectDashboard(): Promise<void> {
  const [, url = '', key = ''] =
    /^Dashboard\n {2}address {4}(\S+\/)\n {2}admin key {2}(\S+)$/m.exec(output.stdout) ?? [];
  const page = await fetch(url);
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const history = await fetch(`${url}api/v1/agents/misbehaving/history?step=heartbeat`, {
    headers: { 'x-admin-key': key },
  });
  const { points, changes } = (await history.json()) as AgentHistory;
  const seeded = points.slice(0, 20);
  expect(seeded.map(({ score }) => score)).toEqual([
    ...Array<number>(6).fill(80),
    ...Array<number>(8).fill(70),
    ...Array<number>(4).fill(30),
    ...Array<number>(2).fill(0),
  ]);
  const spanMs = Date.parse(seeded.at(-1)?.at ?? '') - Date.parse(seeded[0]?.at ?? '');
  expect(spanMs).toBe(570_000);
  expect(points.length).toBeGreaterThan(20);
  // The sidecar continues where the seeded history ends.
  expect(changes.filter(({ kind }) => kind === 'manifest' || kind === 'version')).toHaveLength(2);
}

async function curl(line: string): Promise<unknown> {
  const { stdout } = await run('/bin/sh', ['-c', line], { timeout: 240_000 });
  return JSON.parse(stdout) as unknown;
}

describe('make demo ONCE=1', () => {
  test('prints a fleet with correct phases, grades, scores, tokens and reasons, and leaves nothing behind', async () => {
    startDemo({ ONCE: '1' });
    expect([await exited, output.stderr]).toEqual([0, '']);
    const table = /^NAME .*\n(?:.+\n)+/m.exec(output.stdout)?.[0].trimEnd().split('\n') ?? [];
    expect(table.map((line) => line.replaceAll(/ {2,}/g, ' ').replace(/[\d,]+ \d+s$/, 'N Ns'))).toEqual([
      'NAME COMPLIANT PHASE GRADE SCORE EVIDENCE PROVED TOKENS CHECKED',
      'compliant yes Healthy A 100 77% 25 N Ns',
      ...(hasPython ? ['python yes Healthy A 100 50% 12 N Ns'] : []),
      'silent unknown Healthy A 100 22% 5 N Ns',
      'lying no Healthy C 70 45% 22 N Ns',
      'gappy no Degraded D 45 40% 12 N Ns',
      'misbehaving no Healthy F 0 68% 22 N Ns',
    ]);
    // The verdict with its reason, one line per agent.
    expect(output.stdout).toMatch(/^ {2}compliant +yes: /m);
    expect(output.stdout).toMatch(/^ {2}gappy +no: the grade is below B$/m);
    expect(output.stdout).toMatch(/^ {2}silent +unknown: .*, without tool calculator, /m);
    expect(output.stdout).toMatch(/^ {2}lying +no: /m);
    expect(output.stdout).toMatch(/^lying lost 30 points:$/m);
    expect(output.stdout).toMatch(/^misbehaving lost 100 points:$/m);
    expect(output.stdout).toMatch(/^compliant lost no points$/m);
    expect(output.stdout).toMatch(/^ {2}-20 {2}service:orders-db /m);
    expect(output.stdout).toMatch(/^ {2}-20 {2}guardrails\.input\.pii-detector /m);
    expect(output.stdout).not.toContain('\u001b');
    expect(output.stdout).toMatch(/^The dashboard was at http:\/\/127\.0\.0\.1:\d+\/\. Without ONCE=1/m);
    expect(await leftBehind()).toEqual({ named: PORTS, listening: [], files: [] });
  });
});

describe('make demo', () => {
  test('prints working commands, runs until Ctrl-C, and leaves nothing behind', async () => {
    startDemo({});
    await shown('Press Ctrl-C to stop.');
    const lines = [...output.stdout.matchAll(/^ {2}(curl .*)$/gm)].map(([, line]) => line ?? '');
    expect(lines).toHaveLength(7);
    const [agents, gap, chat, audit, calls, ownGap, ready] = await Promise.all(lines.map(curl));
    expect((agents as { agentName: string }[]).map(({ agentName }) => agentName).sort()).toEqual([
      'compliant',
      'gappy',
      'lying',
      'misbehaving',
      ...(hasPython ? ['python'] : []),
      'silent',
    ]);
    // Its score changes after 20 seconds.
    expect(gap).toMatchObject({ score: expect.any(Number), source: 'agent-sdk' });
    expect(chat).toMatchObject({ response: expect.stringMatching(/order A-17/) });
    expect(audit).toEqual([expect.objectContaining({ requestId: expect.any(String) })]);
    expect(calls).toContainEqual(
      expect.objectContaining({
        ...{ lane: 'openai', model: 'gpt-4o-mini', blocked: true, statusCode: 200 },
        ...{ toolsCalled: ['delete_all_orders'], violations: ['tool_not_declared'] },
      }),
    );
    expect(ownGap).toMatchObject({ source: 'agent-sdk', score: expect.any(Number) });
    expect(ready).toMatchObject({ status: 'ready', source: 'agent-sdk' });
    const command = /^ {2}node (dist\/cli\/main\.js audit .*)$/m.exec(output.stdout)?.[1] ?? '';
    const scores = await run(process.execPath, command.split(' '), { cwd: join(MAIN, '../../..') });
    expect(scores.stdout).toMatch(
      /^misbehaving 2\.1\.0\n {2}declared .*\n {2}proved score {4}\d\d\/100 grade F /,
    );
    expect(scores.stdout).toContain('  [B] SEC-LLM-01 ');
    const observe = /^ {2}node (dist\/cli\/main\.js observe .*)$/m.exec(output.stdout)?.[1] ?? '';
    const matrix = await run(process.execPath, observe.split(' '), { cwd: join(MAIN, '../../..') });
    expect(matrix.stdout).toMatch(/delete_all_orders .*undeclared/);
    expect(matrix.stdout).toMatch(/gpt-4o-mini .*match/);
    await expectDashboard();
    demo.kill('SIGINT');
    expect([await exited, output.stderr]).toEqual([0, '']);
    expect(await leftBehind()).toMatchObject({ listening: [], files: [] });
  });

  test('fails with the reason when one of its processes exits, and leaves nothing behind', async () => {
    startDemo({});
    // All processes run.
    await shown('sending chat requests');
    const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=,args=']);
    const controlPlane = stdout
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .find(
        ([, parent, ...args]) => Number(parent) === demo.pid && args.join(' ').includes('dist/control-plane'),
      );
    process.kill(Number(controlPlane?.[0]), 'SIGKILL');
    expect(await exited).toBe(1);
    expect(output.stderr).toMatch(/^the demo failed: control-plane exited unexpectedly \(SIGKILL\)/);
    expect(await leftBehind()).toMatchObject({ listening: [], files: [] });
  });

  test('leaves nothing behind when killed: its processes exit on their own', async () => {
    startDemo({});
    // All processes run.
    await shown('sending chat requests');
    demo.kill('SIGKILL');
    await exited;
    const deadline = Date.now() + 200_000;
    let left = await leftBehind();
    while (left.listening.length + left.files.length > 0 && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      left = await leftBehind();
    }
    expect(left).toEqual({ named: PORTS, listening: [], files: [] });
  });

  test('leaves nothing behind when interrupted during the start', async () => {
    startDemo({});
    await shown('control plane and dashboard on');
    demo.kill('SIGINT');
    expect([await exited, output.stderr]).toEqual([1, 'the demo failed: stopped by SIGINT\n']);
    expect(await leftBehind()).toMatchObject({ listening: [], files: [] });
  });
});
