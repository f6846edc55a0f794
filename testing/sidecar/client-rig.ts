import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from '@jest/globals';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { startOpa, whyNoOpa, writePolicy, type Opa } from './opa.ts';
import { manifestText, startSidecarRig } from './sidecar-rig.ts';

/** Policy modes; allowed requests must pass identically in each. */
export const MODES = ['track', 'enforce'] as const;
export type Mode = (typeof MODES)[number];
/** Policy engines. */
const ENGINES = ['builtin', 'opa'] as const;

/** A manifest with one rule that requires a report, and one rule that passes without a report. */
export const GUARDED = manifestText({
  guardrails: { input: [{ type: 'pii-detector' }] },
  tools: [{ name: 'delete_order', annotations: { destructiveHint: true } }],
});
/** The report of an agent that complies with `GUARDED`. */
export const KEEPS = { 'X-Platform-Guardrails-Invoked': 'pii-detector' };
/** The report of an agent that violates `GUARDED`. */
export const BREAKS = { ...KEEPS, 'X-Platform-Tools-Called': 'find_order, delete_order' };
/** The reason of the denial. */
export const DENIAL = 'destructive_tool_without_confirmation';

/** A real engine with the rules of one manifest, started for the first sidecar. */
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

/** Engines of this test file, by manifest. */
const realEngines = new Map<string, RealEngine>();

function realEngineFor(manifest: string): RealEngine {
  const known = realEngines.get(manifest) ?? new RealEngine(manifest);
  realEngines.set(manifest, known);
  return known;
}

/** One combination of mode and engine, with functions that start a sidecar with it. */
export interface Setting {
  mode: Mode;
  engine: (typeof ENGINES)[number];
  /** The sidecar's environment variables for mode and engine. */
  env: () => Promise<Record<string, string>>;
  /** Starts a sidecar in front of the agent at this address. */
  before: (agentUrl: string) => Promise<ClientRig>;
  /** Starts a sidecar in front of an agent with this handler. */
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
        // Long timeout, because an engine on a busy machine may be slow.
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

/** A complete sidecar for clients of the agent. */
export interface ClientRig {
  /** URL of the sidecar's proxy, which clients use as the agent. */
  url: string;
  /** The audit ring once this number of requests is complete, oldest first; throws after five seconds. */
  completed(count: number): Promise<AuditEntry[]>;
  close(): Promise<void>;
}

/** Starts a sidecar with the builtin engine in front of the agent at this address. */
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
      const deadline = Date.now() + 120_000;
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
  /** The agent's own address, to bypass the sidecar. */
  agentUrl: string;
  /** Headers with which the agent reports its behavior in each response; initially `KEEPS`. */
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
