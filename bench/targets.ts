import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { annotationDefaults } from '../core/injection/annotations.ts';
import { nodeOptions } from '../core/injection/build-sidecar.ts';
import { parseManifest } from '../core/manifest/parse-manifest.ts';
import { imageOf, stagesOf } from '../e2e/images/dockerfile.ts';
import { startNginx } from '../testing/machine/debian-server.ts';
import { startOpa, writePolicy } from '../testing/sidecar/opa.ts';
import { TestServers } from '../testing/http/sockets.ts';
import { issueCa, issueLeaf } from '../webhook/certificates/issue.ts';
import { pin, startNode, type Started } from './processes.ts';
import type { Prefix } from './scenarios.ts';

/** A measured process in front of the agent. */
export interface Target {
  name: string;
  prefix: Prefix;
  start(setup: Setup): Promise<Started & { port: number }>;
}

export interface Setup {
  agent: Agent;
  /** Temporary directory of this run. */
  directory: string;
  /** Command line flags of Node.js for the sidecar. */
  flags?: readonly string[];
  /** Gets what the sidecar prints. */
  onOutput?: (text: string) => void;
}

export interface Agent {
  pid: number;
  port: number;
  url: string;
  /** The CA of an agent with TLS. */
  caFile?: string;
}

/** The targets that results are divided by. */
export const BASELINES = ['http-proxy', 'undici'] as const;
export const [HTTP_PROXY, UNDICI] = BASELINES;

/** No proxy. */
export const DIRECT = 'direct';
/** The sidecar as most users run it. */
export const SIDECAR = 'sidecar track, headers';
export const WITH_OPA = 'sidecar track, OPA, headers';
export const LANE = 'lane';

/** The heap of an injected sidecar with the chart's memory limit. */
export const CHART_HEAP = {
  NODE_OPTIONS: nodeOptions(annotationDefaults((_key, chart) => chart.default).memoryLimit),
};

/** A manifest that activates most of the policy rules. The agent's reports violate none of them. */
const AGENT = {
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
};
const MANIFEST = JSON.stringify(AGENT);

/** The built sidecar, from the root of the repository. */
export const BUNDLE = 'dist/sidecar/main.js';

export const freePort = (): Promise<number> => new TestServers().closedPort();

/** Starts the agent. `tlsDirectory`: with TLS and a certificate of a new CA, whose files are written there. */
export async function startAgent(tlsDirectory: string | null = null): Promise<Started & Agent> {
  const port = await freePort();
  const url = `${tlsDirectory === null ? 'http' : 'https'}://127.0.0.1:${port}`;
  const secured = tlsDirectory === null ? null : await certificateIn(tlsDirectory);
  const env = { PORT: String(port), ...secured?.env };
  const started = await startNode(join(import.meta.dirname, 'servers/agent.ts'), port, env);
  return { ...started, port, url, ...(secured !== null && { caFile: secured.caFile }) };
}

/** A running target, pinned to the processor of targets. */
export interface RunningTarget {
  name: string;
  prefix: Prefix;
  pid: number;
  port: number;
}

/** Starts an agent and the targets in front of it. `opened` gets each process as soon as it runs. */
export async function startTargets(
  targets: readonly Target[],
  opened: Started[],
  { directory, tls = false }: { directory: string; tls?: boolean },
): Promise<RunningTarget[]> {
  const agent = await startAgent(tls ? directory : null);
  opened.push(agent);
  pin(agent.pid, 'others');
  const running: RunningTarget[] = [];
  for (const target of targets) {
    const { name, prefix } = target;
    const started = await target.start({ agent, directory });
    opened.push(started);
    if (started.pid !== agent.pid) pin(started.pid, 'target');
    running.push({ name, prefix, pid: started.pid, port: started.port });
  }
  return running;
}

async function certificateIn(directory: string): Promise<{ caFile: string; env: Record<string, string> }> {
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const validity = { now: new Date(), days: 2 };
  const ca = await issueCa(validity);
  const leaf = await issueLeaf(ca, ['127.0.0.1'], validity);
  const env = { TLS_CERT: file('cert.pem', leaf.cert), TLS_KEY: file('key.pem', leaf.key) };
  return { caFile: file('ca.pem', ca.cert), env };
}

/** One of the proxies in servers/. */
function ofServers(name: string, file: string, more: { prefix?: Prefix; env?: Environment } = {}): Target {
  return {
    name,
    prefix: more.prefix ?? 'plain',
    start: async ({ agent }) => {
      const port = await freePort();
      const ca = agent.caFile === undefined ? {} : { CA_FILE: agent.caFile };
      const env = { PORT: String(port), UPSTREAM_URL: agent.url, ...ca, ...more.env };
      return { port, ...(await startNode(join(import.meta.dirname, 'servers', file), port, env)) };
    },
  };
}

type Environment = Readonly<Record<string, string>>;

/** The sidecar, run as in its image, with the heap that it has in pods. */
export function sidecar(
  name: string,
  { prefix, env = {}, bundle = BUNDLE, heap = CHART_HEAP }: SidecarTarget,
): Target {
  return { name, prefix, start: (setup) => startSidecar(setup, bundle, { ...heap, ...env }) };
}

interface SidecarTarget {
  prefix: Prefix;
  env?: Environment;
  /** Path relative to the repository root. */
  bundle?: string;
  heap?: Environment;
}

async function startSidecar(
  setup: Setup,
  bundle: string,
  env: Environment,
): Promise<Started & { port: number }> {
  const port = await freePort();
  const variables = await sidecarVariables(setup, port);
  const { flags = [], onOutput } = setup;
  const main = asInImage(bundle, setup.directory);
  const options = { flags: [...imageFlags(), ...flags], onOutput };
  return { port, ...(await startNode(main, port, { ...variables, ...env }, options)) };
}

/** Command line flags of Node.js in the image of the sidecar. */
export function imageFlags(): string[] {
  const dockerfile = readFileSync(join(import.meta.dirname, '../images/Dockerfile'), 'utf8');
  return imageOf(stagesOf(dockerfile), 'sidecar').config.Entrypoint?.slice(1) ?? [];
}

/** The file that runs a bundle as in its image: with a loader and a code cache (images/Dockerfile). */
export function asInImage(bundle: string, directory: string): string {
  const folder = join(directory, `image-${bundle.replaceAll(/[^\w-]+/g, '-')}`);
  const main = join(folder, 'main.js');
  if (existsSync(main)) return main;
  const images = join(import.meta.dirname, '../images');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }');
  copyFileSync(bundle, join(folder, 'bundle.js'));
  copyFileSync(join(images, 'load-bundle.cjs'), main);
  const filled = spawnSync(process.execPath, [join(images, 'fill-code-cache.cjs'), bundle, folder]);
  if (filled.status !== 0) throw new Error(`${bundle} has no code cache: ${String(filled.stderr)}`);
  return main;
}

/** The variables of a sidecar in front of the agent. */
export async function sidecarVariables({ agent, directory }: Setup, port: number): Promise<Environment> {
  const manifest = join(directory, 'agent.yaml');
  writeFileSync(manifest, MANIFEST);
  return {
    UPSTREAM_URL: agent.url,
    ...(agent.caFile !== undefined && { NODE_EXTRA_CA_CERTS: agent.caFile }),
    MANIFEST_PATH: manifest,
    BIND_ADDRESS: '127.0.0.1',
    PROXY_PORT: String(port),
    CONTROL_PLANE_PORT: String(await freePort()),
    OPENAI_API_KEY: 'unused',
  };
}

/** The engine as in the pod: on a Unix socket. */
const sidecarWithOpa: Target = {
  name: WITH_OPA,
  prefix: 'headers',
  start: async (setup) => {
    const parsed = parseManifest(MANIFEST);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    const rules = join(setup.directory, 'rules');
    await writePolicy(rules, parsed.manifest);
    const socketPath = join(setup.directory, 'opa.sock');
    const opa = await startOpa([rules], { socketPath });
    try {
      const engine = { POLICY_URL: opa.url, POLICY_SOCKET: socketPath };
      const started = await startSidecar(setup, BUNDLE, { ...CHART_HEAP, ...engine });
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

export const BUILTIN = { POLICY_ENGINE: 'builtin' };

export const TARGETS: readonly Target[] = [
  {
    name: DIRECT,
    prefix: 'plain',
    start: ({ agent }) => Promise.resolve({ ...agent, close: () => Promise.resolve() }),
  },
  ofServers(HTTP_PROXY, 'bare-http-proxy.ts'),
  ofServers(UNDICI, 'bare-undici.ts'),
  ofServers(`${UNDICI}, heap of a pod`, 'bare-undici.ts', { env: CHART_HEAP }),
  ofServers('@fastify/http-proxy', 'fastify-http-proxy.ts'),
  nginx,
  sidecar('sidecar off', { prefix: 'headers', env: { POLICY_PROXY_MODE: 'off' } }),
  sidecar('sidecar track, no headers', { prefix: 'plain', env: BUILTIN }),
  sidecar(SIDECAR, { prefix: 'headers', env: BUILTIN }),
  sidecar(`${SIDECAR}, heap of V8`, { prefix: 'headers', env: BUILTIN, heap: {} }),
  sidecarWithOpa,
];

/** The baseline of the audit log. */
export const NO_LOG = 'audit log off';
export const FULL_LOG = 'audit log, all';
export const DECISIONS_LOG = 'audit log, decisions';

/** The sidecar that most users run, with and without an audit log in a file. */
export const RECORD_TARGETS: readonly Target[] = [
  sidecar(NO_LOG, { prefix: 'headers', env: BUILTIN }),
  recording(FULL_LOG, 'all'),
  recording(DECISIONS_LOG, 'decisions'),
];

function recording(name: string, events: string): Target {
  return {
    name,
    prefix: 'headers',
    start: (setup) => {
      const log = {
        AUDIT_LOG: 'file',
        AUDIT_LOG_PATH: join(setup.directory, `${events}.log`),
        AUDIT_LOG_EVENTS: events,
      };
      return startSidecar(setup, BUNDLE, { ...CHART_HEAP, ...BUILTIN, ...log });
    },
  };
}

/** An egress lane in front of a vendor with TLS, and a bare forwarder. */
export const LANE_TARGETS: readonly Target[] = [
  ofServers(UNDICI, 'bare-undici.ts', { prefix: 'openai', env: { LANE_PATH: '/openai' } }),
  {
    name: LANE,
    prefix: 'openai',
    start: async (setup) => {
      const { agent, directory } = setup;
      const [port, unused] = [await freePort(), await freePort()];
      const variables = {
        ...(await sidecarVariables(setup, await freePort())),
        ...CHART_HEAP,
        // Nothing listens there: a call through a lane does not reach the agent.
        UPSTREAM_URL: `http://127.0.0.1:${unused}`,
        MANIFEST_PATH: manifestOfLane(directory),
        ...BUILTIN,
        POLICY_PROXY_MODE: 'enforce',
        EGRESS_LANES: `openai=${agent.url}`,
        EGRESS_PORT: String(port),
        EGRESS_CA_FILE: agent.caFile ?? '',
        LOG_LEVEL: 'error',
      };
      const options = { flags: imageFlags() };
      return { port, ...(await startNode(asInImage(BUNDLE, directory), port, variables, options)) };
    },
  },
];

/** Declares what the requests through the lane contain, so that every rule is evaluated and none denies. */
function manifestOfLane(directory: string): string {
  const { spec, ...rest } = AGENT;
  const { model, tools } = spec;
  const { maxTokensPerDay } = model.costControls;
  const file = join(directory, 'lane.yaml');
  const declared = { model: { ...model, costControls: { maxTokensPerDay } }, tools };
  writeFileSync(file, JSON.stringify({ ...rest, spec: declared }));
  return file;
}
