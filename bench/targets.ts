import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseManifest } from '../core/manifest/parse-manifest.ts';
import { startNginx } from '../testing/debian-server.ts';
import { startOpa, writePolicy } from '../testing/opa.ts';
import { TestServers } from '../testing/sockets.ts';
import { startNode, type Started } from './processes.ts';
import type { Prefix } from './scenarios.ts';

/** A measured process in front of the agent. */
export interface Target {
  name: string;
  prefix: Prefix;
  start(setup: Setup): Promise<Started & { port: number }>;
}

export interface Setup {
  agent: { pid: number; port: number };
  /** Temporary directory of this run. */
  directory: string;
}

/** The target that all results are divided by. */
export const BASELINE = 'http-proxy';

/** A manifest that activates most of the policy rules. The agent's reports violate none of them. */
const MANIFEST = JSON.stringify({
  apiVersion: 'platform.io/v1',
  kind: 'PlatformAgent',
  metadata: { name: 'shop', version: '1.0.0', description: 'Helps customers.' },
  spec: {
    model: {
      provider: 'openai',
      id: 'gpt-5',
      apiKey: '$env:OPENAI_API_KEY',
      costControls: {
        maxMonthlyUSD: 1e9,
        maxTokensPerDay: 1_000_000_000_000,
        usdPerMillionTokens: { input: 1.25, output: 10 },
      },
    },
    tools: [{ name: 'search-orders' }, { name: 'refund', annotations: { destructiveHint: true } }],
    guardrails: {
      input: [{ type: 'pii-detector' }, { type: 'prompt-injection' }],
      output: [{ type: 'toxicity-filter', threshold: 0.8 }],
    },
    memory: { shortTerm: { ttlSeconds: 3600 } },
  },
});

const freePort = (): Promise<number> => new TestServers().closedPort();

const urlOf = ({ agent }: Setup): string => `http://127.0.0.1:${agent.port}`;

export async function startAgent(): Promise<Started & { port: number }> {
  const port = await freePort();
  return {
    port,
    ...(await startNode(join(import.meta.dirname, 'servers/agent.ts'), port, { PORT: String(port) })),
  };
}

/** One of the proxies in servers/. */
function ofServers(name: string, file: string): Target {
  return {
    name,
    prefix: 'plain',
    start: async (setup) => {
      const port = await freePort();
      const env = { PORT: String(port), UPSTREAM_URL: urlOf(setup) };
      return { port, ...(await startNode(join(import.meta.dirname, 'servers', file), port, env)) };
    },
  };
}

/** The sidecar, run as in its image. */
export function sidecar(
  name: string,
  { prefix, env = {}, bundle = 'dist/sidecar/main.js' }: SidecarTarget,
): Target {
  return { name, prefix, start: (setup) => startSidecar(setup, bundle, env) };
}

interface SidecarTarget {
  prefix: Prefix;
  env?: Record<string, string>;
  /** Path relative to the repository root. */
  bundle?: string;
}

async function startSidecar(
  setup: Setup,
  bundle: string,
  env: Record<string, string>,
): Promise<Started & { port: number }> {
  const manifest = join(setup.directory, 'agent.yaml');
  writeFileSync(manifest, MANIFEST);
  const port = await freePort();
  const started = await startNode(bundle, port, {
    UPSTREAM_URL: urlOf(setup),
    MANIFEST_PATH: manifest,
    BIND_ADDRESS: '127.0.0.1',
    PROXY_PORT: String(port),
    CONTROL_PLANE_PORT: String(await freePort()),
    OPENAI_API_KEY: 'unused',
    ...env,
  });
  return { port, ...started };
}

const sidecarWithOpa: Target = {
  name: 'sidecar track, OPA, headers',
  prefix: 'headers',
  start: async (setup) => {
    const parsed = parseManifest(MANIFEST);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    const rules = join(setup.directory, 'rules');
    await writePolicy(rules, parsed.manifest);
    const opa = await startOpa([rules]);
    try {
      const started = await startSidecar(setup, 'dist/sidecar/main.js', { POLICY_URL: opa.url });
      return {
        ...started,
        close: async () => {
          await started.close();
          await opa.close();
        },
      };
    } catch (error) {
      await opa.close();
      throw error;
    }
  },
};

const nginx: Target = {
  name: 'nginx',
  prefix: 'plain',
  start: async ({ agent }) => {
    const server = await startNginx(
      (_directory, port) => `
        upstream agent { server 127.0.0.1:${agent.port}; keepalive 64; }
        server {
          listen 127.0.0.1:${port};
          keepalive_requests 1000000000;
          location / {
            proxy_pass http://agent;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
          }
        }`,
    );
    return { ...server };
  },
};

const builtin = { POLICY_ENGINE: 'builtin' };

export const TARGETS: readonly Target[] = [
  {
    name: 'direct',
    prefix: 'plain',
    start: ({ agent }) => Promise.resolve({ ...agent, close: () => Promise.resolve() }),
  },
  ofServers(BASELINE, 'bare-http-proxy.ts'),
  ofServers('undici', 'bare-undici.ts'),
  ofServers('@fastify/http-proxy', 'fastify-http-proxy.ts'),
  nginx,
  sidecar('sidecar off', { prefix: 'headers', env: { POLICY_PROXY_MODE: 'off' } }),
  sidecar('sidecar track, no headers', { prefix: 'plain', env: builtin }),
  sidecar('sidecar track, headers', { prefix: 'headers', env: builtin }),
  sidecarWithOpa,
];
