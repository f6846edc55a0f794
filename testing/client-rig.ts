import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from '@jest/globals';
import { parseManifest } from '../core/manifest/parse-manifest.ts';
import type { AuditEntry } from '../core/behavior/audit-entry.ts';
import { startOpa, whyNoOpa, writePolicy, type Opa } from './opa.ts';
import { manifestText, startSidecarRig } from './sidecar-rig.ts';

/** What the proxy does with a denial; what passes must pass alike in each. */
export const MODES = ['track', 'enforce'] as const;
export type Mode = (typeof MODES)[number];
/** Who decides on it. */
const ENGINES = ['builtin', 'opa'] as const;

/** A manifest with one rule that an allowed answer keeps by what it reports, and one that it keeps by silence. */
export const GUARDED = manifestText({
  guardrails: { input: [{ type: 'pii-detector' }] },
  tools: [{ name: 'delete_order', annotations: { destructiveHint: true } }],
});
/** What an agent under `GUARDED` reports that keeps to it. */
export const KEEPS = { 'X-Platform-Guardrails-Invoked': 'pii-detector' };
/** What one reports that does not. */
export const BREAKS = { ...KEEPS, 'X-Platform-Tools-Called': 'find_order, delete_order' };
/** Why it is denied then. */
export const DENIAL = 'destructive_tool_without_confirmation';

/** A real engine with the rules of one manifest, started when the first sidecar wants it. */
class RealEngine {
  readonly #manifest: string;
  #running: Promise<{ opa: Opa; folder: string }> | null = null;

  constructor(manifest: string) {
    this.#manifest = manifest;
  }

  async url(): Promise<string> {
    this.#running ??= this.#start();
    return (await this.#running).opa.url;
  }

  async #start(): Promise<{ opa: Opa; folder: string }> {
    const parsed = parseManifest(this.#manifest);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    const folder = await mkdtemp(join(tmpdir(), 'client-rig-'));
    await writePolicy(folder, parsed.manifest);
    return { opa: await startOpa([folder]), folder };
  }

  async close(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    if (running === null) return;
    const { opa, folder } = await running;
    await opa.close();
    await rm(folder, { recursive: true });
  }
}

/** Of this test file, by manifest. */
const realEngines = new Map<string, RealEngine>();

function realEngineFor(manifest: string): RealEngine {
  const known = realEngines.get(manifest) ?? new RealEngine(manifest);
  realEngines.set(manifest, known);
  return known;
}

/** One mode and one engine, and how to start a sidecar with them. */
export interface Setting {
  mode: Mode;
  engine: (typeof ENGINES)[number];
  /** The sidecar's variables for both. */
  env: () => Promise<Record<string, string>>;
  /** A sidecar before the agent at this address. */
  before: (agentUrl: string) => Promise<ClientRig>;
  /** A sidecar before an agent that this handler plays. */
  serve: (handler: RequestListener) => Promise<ServedRig>;
}

/** Runs a suite in each mode with each engine; the real one is started once in a test file. */
export function inEachSetting(title: string, suite: (setting: Setting) => void, manifest = GUARDED): void {
  const real = realEngineFor(manifest);
  afterAll(() => real.close());
  for (const engine of ENGINES)
    for (const mode of MODES) {
      const missing = engine === 'opa' ? whyNoOpa() : undefined;
      const name = `${title}, in mode ${mode} with the engine ${engine}`;
      const env = async (): Promise<Record<string, string>> => ({
        POLICY_PROXY_MODE: mode,
        // An engine on a busy machine is not one that does not answer.
        POLICY_TIMEOUT_MS: '30000',
        ...(engine === 'opa' ? { POLICY_URL: await real.url() } : { POLICY_ENGINE: engine }),
      });
      const before = async (url: string): Promise<ClientRig> => rigBefore(url, manifest, await env());
      const setting: Setting = {
        mode,
        engine,
        env,
        before,
        serve: (handler) => serveBehind(handler, before),
      };
      if (missing === undefined) describe(name, () => suite(setting));
      else describe.skip(`${name} (${missing})`, () => suite(setting));
    }
}

/** A whole sidecar, for clients that think they speak with the agent. */
export interface ClientRig {
  /** Where a client finds the agent: the sidecar's proxy. */
  url: string;
  /** The ring once so many requests are complete, oldest first; throws after five seconds. */
  completed(count: number): Promise<AuditEntry[]>;
  close(): Promise<void>;
}

/** A sidecar with the builtin engine before the agent at this address. */
export function startClientRig(
  agentUrl: string,
  { mode, manifest = manifestText() }: { mode: Mode; manifest?: string },
): Promise<ClientRig> {
  return rigBefore(agentUrl, manifest, { POLICY_PROXY_MODE: mode, POLICY_ENGINE: 'builtin' });
}

async function rigBefore(
  agentUrl: string,
  manifest: string,
  env: Record<string, string>,
): Promise<ClientRig> {
  const rig = await startSidecarRig({ manifest, env: { UPSTREAM_URL: agentUrl, ...env } });
  return {
    url: rig.proxyUrl,
    completed: async (count) => {
      const deadline = Date.now() + 30_000;
      for (;;) {
        const entries = await rig.report<AuditEntry[]>('/audit');
        const done = entries.filter(({ outcome }) => outcome !== undefined);
        if (done.length >= count) return done;
        if (Date.now() > deadline) throw new Error(`${done.length} of ${count}: ${JSON.stringify(entries)}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    close: () => rig.close(),
  };
}

export interface ServedRig extends ClientRig {
  server: Server;
  /** The agent's own address, for a look past the sidecar. */
  agentUrl: string;
  /** The headers by which the agent reports its behavior with each answer from now on; at first `KEEPS`. */
  reports: Record<string, string>;
}

async function serveBehind(handler: RequestListener, before: Setting['before']): Promise<ServedRig> {
  const server = createServer((request, response) => {
    for (const [name, value] of Object.entries(served.reports)) response.setHeader(name, value);
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const agentUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const rig = await before(agentUrl);
  const served: ServedRig = {
    ...rig,
    server,
    agentUrl,
    reports: KEEPS,
    close: async () => {
      await rig.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return served;
}
