// Runs the commands of docs/guide/laptop.md in their order, on free ports and in a directory of its own.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePorts } from '../examples/demo/free-ports.ts';
import { ChildServer } from '../testing/machine/child-server.ts';
import { blocksUnder, differencesFrom } from '../testing/documents/documented-commands.ts';
import { isListening } from '../testing/machine/is-listening.ts';

const run = promisify(execFile);
const ROOT = dirname(import.meta.dirname);
const PAGE = 'docs/guide/laptop.md';
/** The ports on the page. */
const PORTS = ['4000', '4001', '8000', '8001', '8080'];
/** Programs that run until they are stopped, with the variables of their ports and the port that shows that they are up. */
const SERVERS: readonly { command: RegExp; env: Record<string, string>; up: string }[] = [
  { command: /dist\/control-plane\/main\.js/, env: { PORT: '8080' }, up: '8080' },
  { command: /examples\/agents\/main\.ts/, env: { PORT: '8000' }, up: '8000' },
  { command: /dist\/sidecar\/main\.js/, env: { PROXY_PORT: '4000', CONTROL_PLANE_PORT: '4001' }, up: '4001' },
  { command: /push\.mjs/, env: {}, up: '8001' },
];

let directory: string;
let ports: Map<string, string>;
let key = '';
const servers: { pid: number; ended: Promise<void> }[] = [];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'laptop-guide-'));
  for (const name of ['dist', 'examples', 'node_modules', 'package.json'])
    symlinkSync(join(ROOT, name), join(directory, name));
  const free = await freePorts(PORTS.length);
  ports = new Map(PORTS.map((port, index) => [port, String(free[index])]));
});

afterAll(async () => {
  for (const { pid, ended } of servers.reverse()) {
    process.kill(pid, 'SIGTERM');
    await ended;
  }
  rmSync(directory, { recursive: true });
});

const portOf = (port: string): string => ports.get(port) ?? port;

/** The text of the page for this run. */
const adapted = (text: string): string =>
  text
    .replaceAll(/(localhost:|listen\()(\d{4})/g, (_, before: string, port: string) => before + portOf(port))
    .replaceAll(/eyJ[\w-]+…/g, key)
    .replaceAll('DATA_DIR=/tmp/agent-compliance', `DATA_DIR=${join(directory, 'data')}`);

const environment = (more: Record<string, string> = {}): Record<string, string> => ({
  PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
  HOME: directory,
  ...Object.fromEntries(Object.entries(more).map(([name, port]) => [name, portOf(port)])),
});

/** Runs one command as a shell does, and returns its output; a server is started and keeps running. */
async function type(command: string): Promise<string> {
  const server = SERVERS.find((each) => each.command.test(command));
  const text = adapted(command);
  if (server === undefined)
    return (await run('sh', ['-ec', `exec 2>&1\n${text}`], { cwd: directory, env: environment() })).stdout;
  const child = spawn('sh', ['-ec', text.replace(/\bnode /, 'exec node ')], {
    cwd: directory,
    env: environment(server.env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const started = new ChildServer(child);
  const pid = await started.untilUp(() => isListening(Number(portOf(server.up))));
  if (pid === null) throw new Error(`not up: ${command}`);
  servers.push({ pid, ended: started.ended });
  return '';
}

/** The commands of a section with their outputs. */
async function typeSection(heading: string): Promise<string[]> {
  const outputs: string[] = [];
  for (const { language, body } of blocksUnder(PAGE, heading)) {
    if (language === 'js') writeFileSync(join(directory, 'push.mjs'), adapted(body));
    if (language !== 'sh') continue;
    for (const command of body.trim().split(/(?<!\\)\n/)) outputs.push(await type(command));
  }
  return outputs;
}

/** Where the outputs that the page shows in a section differ from the real ones. */
const differences = (heading: string, real: string): string[] =>
  blocksUnder(PAGE, heading)
    .filter(({ language }) => language === '')
    .flatMap(({ body }) => differencesFrom(real, body));

test('creates and validates a manifest, and checks what a manifest requires', async () => {
  const [, validated, health = ''] = await typeSection('Create a manifest');
  expect(validated).toContain('valid');
  expect(differences('Create a manifest', health)).toEqual([]);
}, 120_000);

test('starts the control plane and registers the agent', async () => {
  const [, registered = ''] = await typeSection('Start the control plane');
  expect(registered).toMatch(/^registered gappy as agt_\w+; its key is valid until /m);
  expect(differences('Start the control plane', registered)).toEqual([]);
  key = /^PLATFORM_KEY=(\S+)$/m.exec(registered)?.[1] ?? '';
  expect(key).not.toBe('');
}, 120_000);

test('starts the agent and the sidecar, which return the reports of the page', async () => {
  await typeSection('Start an agent and its sidecar');
  const [answer, gap = '', ...others] = await typeSection('Send a request and read the reports');
  expect(answer).toContain('42');
  expect(differences('Send a request and read the reports', gap)).toEqual([]);
  for (const other of others) expect(() => JSON.parse(other) as unknown).not.toThrow();
}, 120_000);

test('a proof improves the score, and the fleet API shows it', async () => {
  const [, audit] = await typeSection('Improve the score');
  expect(audit).toMatch(/^ {2}\[X\] EVAL-01 /m);
  for (;;) {
    const [list = '', gap = ''] = await typeSection('List the agents');
    const [agent] = JSON.parse(list) as { score?: number }[];
    // The list is read first: a heartbeat between the two reads changes only the gap.
    if (agent?.score === 70) {
      expect(differences('List the agents', list)).toEqual([]);
      expect(JSON.parse(gap)).toMatchObject({ score: 70 });
      return;
    }
    await sleep(200);
  }
}, 120_000);

test('an agent with the reporter reports without a sidecar', async () => {
  const register =
    'PLATFORM_ADMIN_KEY=change-me-to-a-long-one node dist/cli/main.js register my-agent/agent.yaml --url http://localhost:8080';
  key = /^PLATFORM_KEY=(\S+)$/m.exec(await type(register))?.[1] ?? '';
  const [, answer, deleted] = await typeSection('Report without a sidecar');
  expect({ answer, deleted }).toEqual({ answer: 'hello\n', deleted: '' });
}, 120_000);
