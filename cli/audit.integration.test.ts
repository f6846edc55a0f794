import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freePorts } from '../examples/demo/free-ports.ts';
import { RULE_IDS } from '../core/audit/rules.ts';
import { COMMAND_BUNDLE, runBuiltCommand, type Ended } from '../testing/machine/built-command.ts';
import { ProcessRig, type RunningPart } from '../testing/machine/process-rig.ts';

/** The built command against the real sidecar of the example agent, with evidence of each kind from real requests. */

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

/** Rule ids by earned tier. */
async function earnedTiers(): Promise<Record<string, string[]>> {
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

/** Waits until the sidecar has recorded all outcomes; the client may have its response earlier. */
async function outcomesRecorded(): Promise<void> {
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

test('checks, observations and proofs raise the proved score only once they are earned', async () => {
  const declared = { overallScore: 75, grade: 'B' };
  // The checks of the agent's reporter count from the start: the model responds, the prompt exists and the key is set.
  expect(await earnedTiers()).toMatchObject({
    P: ['SEC-LLM-03', 'SEC-LLM-05', 'SEC-LLM-10', 'MODEL-02'],
    B: [],
    X: [],
  });
  expect(await scores()).toEqual({ ...declared, provedScore: 15, provedGrade: 'F', pendingProofCount: 7 });

  const response = await fetch(`${sidecar.proxyUrl}/v1/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'How much is 6 * 7?' }),
  });
  expect(response.status).toBe(200);
  await response.arrayBuffer();
  await outcomesRecorded();
  expect(await earnedTiers()).toMatchObject({ B: ['SEC-LLM-01', 'SEC-LLM-02'], X: [] });
  expect(await scores()).toEqual({ ...declared, provedScore: 25, provedGrade: 'F', pendingProofCount: 7 });

  await prove('SEC-LLM-08');
  expect(await earnedTiers()).toMatchObject({ X: ['SEC-LLM-08'] });
  expect(await scores()).toEqual({ ...declared, provedScore: 30, provedGrade: 'F', pendingProofCount: 6 });

  const removed = await fetch(`${sidecar.controlUrl}/proof/rule/SEC-LLM-08`, { method: 'DELETE' });
  expect(removed.status).toBe(204);
  expect(await scores()).toMatchObject({ provedScore: 25, pendingProofCount: 7 });
});

test('27 proofs that the agent posts to its own sidecar do not count if only the control plane may write proofs', async () => {
  const [agentPort = 0] = await freePorts(1);
  await rig.startAgent(agentPort, MANIFEST, { OPENAI_API_KEY: 'any' });
  const injected = await rig.startSidecar(agentPort, MANIFEST, { PROOF_WRITES: 'control-plane' });
  const provedScore = async (...options: string[]): Promise<unknown> =>
    (
      JSON.parse((await audit('--url', injected.controlUrl, '--json', ...options)).output) as {
        provedScore: number;
      }
    ).provedScore;
  expect(await provedScore()).toBe(15);
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
  expect(await provedScore('--accept-local-proofs')).toBe(15);
});

const outside = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === 'IPv4' && !each.internal)?.address;

(outside === undefined ? test.skip : test)(
  'explains port-forward if the sidecar restricts remote access',
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

/** Standard output of the command on a terminal, which `script` creates. */
async function onTerminal(env: Record<string, string>): Promise<string> {
  const command = [process.execPath, COMMAND_BUNDLE, 'audit', MANIFEST].map((word) => `'${word}'`).join(' ');
  const { stdout } = await promisify(execFile)('script', ['-qec', command, '/dev/null'], {
    env: { PATH: process.env['PATH'], ...env },
    timeout: 240_000,
  });
  return stdout;
}

// Only the util-linux version has these options.
(process.platform === 'linux' && existsSync('/usr/bin/script') ? test : test.skip)(
  'prints colours on a terminal unless NO_COLOR or TERM=dumb is set',
  async () => {
    expect(await onTerminal({})).toContain('\u001b[32m 75/100\u001b[39m');
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      const plain = await onTerminal(env);
      expect(plain).toContain('  declared score  75/100 grade B ');
      expect(plain).not.toContain('\u001b[3');
    }
  },
);
