import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freePorts } from '../examples/demo/free-ports.ts';
import { RULE_IDS } from '../core/audit/rules.ts';
import { COMMAND_BUNDLE, runBuiltCommand, type Ended } from '../testing/built-command.ts';
import { ProcessRig, type RunningPart } from '../testing/process-rig.ts';

/** The built command against the real sidecar of the real example agent: evidence of each kind, really earned. */

const ROOT = dirname(import.meta.dirname);
const MANIFEST = join(ROOT, 'examples/agents/compliant/agent.yaml');

let rig: ProcessRig;
let sidecar: RunningPart & { proxyUrl: string; controlUrl: string };

beforeAll(async () => {
  rig = await ProcessRig.open();
  const [agentPort = 0] = await freePorts(1);
  await rig.startAgent(agentPort, MANIFEST, { OPENAI_API_KEY: 'any' });
  sidecar = await rig.startSidecar(agentPort, MANIFEST);
});
afterAll(() => rig.close());

const audit = (...args: string[]): Promise<Ended> =>
  runBuiltCommand(['audit', MANIFEST, ...args], { cwd: rig.folder });

/** Rule ids by the tier that they earned. */
async function earned(): Promise<Record<string, string[]>> {
  const { output, errors, exitCode } = await audit('--url', sidecar.controlUrl);
  expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
  const tiers: Record<string, string[]> = { D: [], P: [], B: [], X: [], ' ': [] };
  for (const [, tier = '', id = ''] of output.matchAll(/^ {2}\[([DPBX ])\] (\S+)/gm)) tiers[tier]?.push(id);
  return tiers;
}

async function scores(): Promise<Record<string, unknown>> {
  const { output } = await audit('--url', `${sidecar.controlUrl}/platform`, '--json');
  const { overallScore, grade, provedScore, provedGrade, pendingProofCount } = JSON.parse(output) as Record<
    string,
    unknown
  >;
  return { overallScore, grade, provedScore, provedGrade, pendingProofCount };
}

/** The client may have its whole answer before the sidecar has written down how it went. */
async function complete(): Promise<void> {
  for (;;) {
    const entries = (await (await fetch(`${sidecar.controlUrl}/audit`)).json()) as { outcome?: string }[];
    if (entries.length > 0 && entries.every(({ outcome }) => outcome !== undefined)) return;
    await sleep(20);
  }
}

async function prove(ruleId: string): Promise<void> {
  const response = await fetch(`${sidecar.controlUrl}/proof/rule/${ruleId}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ verifiedBy: 'qa', method: 'refunded an order without confirmation: refused' }),
  });
  expect(response.status).toBe(201);
}

test('checks, observations and proofs each raise the proved score when they are earned, and no sooner', async () => {
  const declared = { overallScore: 70, grade: 'C' };
  // What the agent's reporter checks is shown from the start: its model answers, its prompt is there.
  expect(await earned()).toMatchObject({ P: ['SEC-LLM-03', 'SEC-LLM-05', 'MODEL-02'], B: [], X: [] });
  expect(await scores()).toEqual({ ...declared, provedScore: 10, provedGrade: 'F', pendingProofCount: 7 });

  const answer = await fetch(`${sidecar.proxyUrl}/v1/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'How much is 6 * 7?' }),
  });
  expect(answer.status).toBe(200);
  await answer.arrayBuffer();
  await complete();
  expect(await earned()).toMatchObject({ B: ['SEC-LLM-01', 'SEC-LLM-02'], X: [] });
  expect(await scores()).toEqual({ ...declared, provedScore: 20, provedGrade: 'F', pendingProofCount: 7 });

  await prove('SEC-LLM-08');
  expect(await earned()).toMatchObject({ X: ['SEC-LLM-08'] });
  expect(await scores()).toEqual({ ...declared, provedScore: 25, provedGrade: 'F', pendingProofCount: 6 });

  const removed = await fetch(`${sidecar.controlUrl}/proof/rule/SEC-LLM-08`, { method: 'DELETE' });
  expect(removed.status).toBe(204);
  expect(await scores()).toMatchObject({ provedScore: 20, pendingProofCount: 7 });
});

test('27 proofs that the agent posts to its own sidecar count nothing where the control plane alone writes them', async () => {
  const [agentPort = 0] = await freePorts(1);
  await rig.startAgent(agentPort, MANIFEST, { OPENAI_API_KEY: 'any' });
  const injected = await rig.startSidecar(agentPort, MANIFEST, { PROOF_WRITES: 'control-plane' });
  const provedScore = async (...options: string[]): Promise<unknown> =>
    (
      JSON.parse((await audit('--url', injected.controlUrl, '--json', ...options)).output) as {
        provedScore: number;
      }
    ).provedScore;
  expect(await provedScore()).toBe(10);
  for (const ruleId of RULE_IDS) {
    const response = await fetch(`${injected.controlUrl}/proof/rule/${ruleId}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ verifiedBy: 'auditor@example.com', method: 'reviewed' }),
    });
    expect([response.status, ((await response.json()) as { detail: string }).detail]).toEqual([
      403,
      expect.stringContaining(`POST /api/v1/agents/compliant/proof/rule/${ruleId} `),
    ]);
  }
  const listed = await fetch(`${injected.controlUrl}/proof`);
  expect([listed.headers.get('x-platform-proof-writes'), await listed.json()]).toEqual(['control-plane', []]);
  expect(await provedScore('--accept-local-proofs')).toBe(10);
});

test('the report of a build goes to a file, and a score that is too low fails the build', async () => {
  const url = ['--url', sidecar.controlUrl];
  const below = await audit(...url, '--json', '--output', 'audit.json', '--fail-below', '71');
  expect([below.exitCode, below.errors]).toEqual([
    1,
    'wrote audit.json\nthe declared score 70 is below 71\n',
  ]);
  expect(readFileSync(join(rig.folder, 'audit.json'), 'utf8')).toBe(below.output);
  expect(await audit('--fail-below', '70')).toMatchObject({ exitCode: 0, errors: '' });
});

test('its proxy, its agent and nobody at all are no sidecar', async () => {
  const proxy = await audit('--url', sidecar.proxyUrl);
  expect([proxy.exitCode, proxy.output]).toEqual([1, '']);
  expect(proxy.errors).toMatch(
    /is not the control port of a sidecar: .*\nGive the control port of a sidecar/,
  );
  const nobody = await audit('--url', 'http://127.0.0.1:9', '--json');
  expect(nobody).toMatchObject({ exitCode: 1, errors: expect.stringContaining('connection refused') });
  expect(JSON.parse(nobody.output)).toEqual({ error: nobody.errors.trim() });
});

const outside = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === 'IPv4' && !each.internal)?.address;

(outside === undefined ? test.skip : test)(
  'a sidecar that answers others only in part says how to ask it',
  async () => {
    const [agentPort = 0] = await freePorts(1);
    const guarded = await rig.startSidecar(agentPort, MANIFEST, {
      BIND_ADDRESS: '0.0.0.0',
      CONTROL_ACCESS: 'local',
    });
    const url = guarded.controlUrl.replace('127.0.0.1', outside ?? '');
    const { output, errors, exitCode } = await audit('--url', url);
    expect([output, exitCode]).toEqual(['', 1]);
    expect(errors).toMatch(/CONTROL_ACCESS=local.*kubectl port-forward/);
    expect(await audit('--url', guarded.controlUrl)).toMatchObject({ exitCode: 0, errors: '' });
  },
);

/** The standard output of the command on a terminal, which `script` makes. */
async function onTerminal(env: Record<string, string>): Promise<string> {
  const command = [process.execPath, COMMAND_BUNDLE, 'audit', MANIFEST].map((word) => `'${word}'`).join(' ');
  const { stdout } = await promisify(execFile)('script', ['-qec', command, '/dev/null'], {
    env: { PATH: process.env['PATH'], ...env },
    timeout: 240_000,
  });
  return stdout;
}

// The one of util-linux: others take other options.
(process.platform === 'linux' && existsSync('/usr/bin/script') ? test : test.skip)(
  'colours show on a terminal, unless NO_COLOR says no',
  async () => {
    expect(await onTerminal({})).toContain('\u001b[33m 70/100 C\u001b[39m');
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      const plain = await onTerminal(env);
      expect(plain).toContain('  declared  70/100 C ');
      expect(plain).not.toContain('\u001b[3');
    }
  },
);
