import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseManifest } from '../core/manifest/parse-manifest.ts';
import { startNginx } from '../testing/debian-server.ts';
import { startOpa, writePolicy } from '../testing/opa.ts';
import { TestServers } from '../testing/sockets.ts';
import { startNode, type Started } from './processes.ts';
import type { Prefix } from './scenarios.ts';

/** What is measured: a process before the agent. */
export interface Target {
  name: string;
  prefix: Prefix;
  start(world: World): Promise<Started & { port: number }>;
}

export interface World {
  agent: { pid: number; port: number };
  /** A folder of the bench's own. */
  folder: string;
}

/** All others are shown as a multiple of it. */
export const BASELINE = 'http-proxy';

/** A manifest with most of the policy rules, none of which fires on what the agent reports. */
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

const urlOf = ({ agent }: World): string => `http://127.0.0.1:${agent.port}`;

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
    start: async (world) => {
      const port = await freePort();
      const env = { PORT: String(port), UPSTREAM_URL: urlOf(world) };
      return { port, ...(await startNode(join(import.meta.dirname, 'servers', file), port, env)) };
    },
  };
}

/** The sidecar as its image runs it. */
export function sidecar(
  name: string,
  { prefix, env = {}, bundle = 'dist/sidecar/main.js' }: SidecarTarget,
): Target {
  return { name, prefix, start: (world) => startSidecar(world, bundle, env) };
}

interface SidecarTarget {
  prefix: Prefix;
  env?: Record<string, string>;
  /** A path from the repository's root. */
  bundle?: string;
}

async function startSidecar(
  world: World,
  bundle: string,
  env: Record<string, string>,
): Promise<Started & { port: number }> {
  const manifest = join(world.folder, 'agent.yaml');
  writeFileSync(manifest, MANIFEST);
  const port = await freePort();
  const started = await startNode(bundle, port, {
    UPSTREAM_URL: urlOf(world),
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
  prefix: 'told',
  start: async (world) => {
    const parsed = parseManifest(MANIFEST);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    const rules = join(world.folder, 'rules');
    await writePolicy(rules, parsed.manifest);
    const opa = await startOpa([rules]);
    try {
      const started = await startSidecar(world, 'dist/sidecar/main.js', { POLICY_URL: opa.url });
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
      (_folder, port) => `
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
  sidecar('sidecar off', { prefix: 'told', env: { POLICY_PROXY_MODE: 'off' } }),
  sidecar('sidecar track, no headers', { prefix: 'plain', env: builtin }),
  sidecar('sidecar track, headers', { prefix: 'told', env: builtin }),
  sidecarWithOpa,
];
