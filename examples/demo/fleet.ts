import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Children } from './children.ts';
import { ControlPlaneClient } from './control-plane-client.ts';
import type { Python } from './find-python.ts';
import { freePorts } from './free-ports.ts';
import { SEEDED_MINUTES, seedHistory, type Seeded } from './seed-history.ts';
import { waitForOk } from './wait-for.ts';

/** The agent in Python runs only where there is Python. */
export const PYTHON_AGENT = 'python';
export const AGENT_NAMES = ['compliant', PYTHON_AGENT, 'silent', 'lying', 'gappy', 'misbehaving'] as const;

/** The agents that call their model through an egress lane, and what a denial does there. */
const LANE_MODES: Readonly<Record<string, 'track' | 'enforce'>> = {
  compliant: 'track',
  misbehaving: 'enforce',
};

/** Whether the sidecar of this agent stops what its manifest does not declare. */
export const isEnforced = (name: string): boolean => LANE_MODES[name] === 'enforce';

export interface DemoAgent {
  name: string;
  /** URL of the agent itself. */
  agentUrl: string;
  /** Proxy URL of its sidecar (port 4000 in a cluster). */
  proxyUrl: string;
  /** Control URL of its sidecar (port 4001 in a cluster). */
  controlUrl: string;
  /** URL of the egress lanes of its sidecar (port 4002 in a cluster); null: it has none. */
  lanesUrl: string | null;
}

export interface Fleet {
  agents: DemoAgent[];
  controlPlaneUrl: string;
  adminKey: string;
  controlPlane: ControlPlaneClient;
  seeded: Seeded;
}

export interface FleetContext {
  root: string;
  folder: string;
  children: Children;
  signal: AbortSignal;
  progress: (line: string) => void;
  python: Python;
}

const HOST = '127.0.0.1';
/** Agent, proxy, control routes and lanes. */
const PORTS_PER_AGENT = 4;
const urlOf = (port: number): string => `http://${HOST}:${port}`;

/**
 * Starts a control plane, the agents and a sidecar for each concurrently, and waits until all respond. The database of the control
 * plane is seeded before it starts.
 */
export async function startFleet(context: FleetContext): Promise<Fleet> {
  const { signal, progress } = context;
  const names = namesOf(context);
  const [planePort = 0, vendorPort = 0, ...ports] = await freePorts(2 + PORTS_PER_AGENT * names.length);
  const adminKey = randomBytes(24).toString('base64url');
  const controlPlaneUrl = urlOf(planePort);
  progress(`control plane and dashboard on ${controlPlaneUrl}`);
  const agents = names.map((name, index) => {
    const [agent = 0, proxy = 0, control = 0, lanes = 0] = ports.slice(PORTS_PER_AGENT * index);
    const lanesUrl = name in LANE_MODES ? urlOf(lanes) : null;
    return { name, agentUrl: urlOf(agent), proxyUrl: urlOf(proxy), controlUrl: urlOf(control), lanesUrl };
  });
  const vendorUrl = startVendor(context, vendorPort);
  const starting = agents.map(async (agent) => {
    const lanes = agent.lanesUrl === null ? '' : `, its lanes on ${agent.lanesUrl}`;
    const sidecar = `its sidecar on ${agent.proxyUrl} and ${agent.controlUrl}`;
    progress(`${agent.name} on ${agent.agentUrl}, ${sidecar}${lanes}`);
    startSidecar(context, agent, { controlPlaneUrl, vendorUrl });
    // As in a pod: an agent that uses lanes starts when its sidecar is ready.
    if (agent.lanesUrl !== null)
      await waitForOk(`the lanes of ${agent.name}`, `${agent.controlUrl}/readyz`, signal);
    startAgent(context, agent);
  });
  const [seeded] = await Promise.all([seed(context, agents), ...starting]);
  startControlPlane(context, planePort, adminKey);
  await Promise.all([
    waitForOk('the control plane', `${controlPlaneUrl}/readyz`, signal),
    ...agents.flatMap(({ name, agentUrl, controlUrl }) => [
      waitForOk(`the agent ${name}`, `${agentUrl}/health`, signal),
      waitForOk(`the sidecar of ${name}`, `${controlUrl}/readyz`, signal),
    ]),
  ]);
  return {
    agents,
    controlPlaneUrl,
    adminKey,
    controlPlane: new ControlPlaneClient(controlPlaneUrl, adminKey),
    seeded,
  };
}

function namesOf({ python, progress }: FleetContext): readonly string[] {
  if ('command' in python) return AGENT_NAMES;
  progress(`SKIPPED: the agent ${PYTHON_AGENT}: ${python.missing}`);
  return AGENT_NAMES.filter((name) => name !== PYTHON_AGENT);
}

async function seed(context: FleetContext, agents: readonly DemoAgent[]): Promise<Seeded> {
  const seededAgents = agents.map(({ name, proxyUrl }) => ({
    name,
    proxyPort: Number(new URL(proxyUrl).port),
    manifestPath: manifestOf(context, name),
  }));
  const seeded = await seedHistory(dataOf(context), seededAgents, {
    now: new Date(),
    signal: context.signal,
  });
  context.progress(`seeded the ${SEEDED_MINUTES} minutes before the start, for the history in the dashboard`);
  return seeded;
}

/** Registers an agent and writes the key for its sidecar, which reads it for its next heartbeat. */
export async function register(fleet: Fleet, agent: DemoAgent, folder: string): Promise<void> {
  const key = await fleet.controlPlane.register(agent.name);
  const path = keyFileOf(folder, agent.name);
  // Renamed into place, so that the sidecar never reads a partial file.
  await writeFile(`${path}.new`, key, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

function startControlPlane(context: FleetContext, port: number, adminKey: string): void {
  context.children.start({
    name: 'control-plane',
    program: bundle(context, 'control-plane'),
    env: {
      PORT: String(port),
      STORE: 'sqlite',
      DATA_DIR: dataOf(context),
      PLATFORM_ADMIN_KEY: adminKey,
      // Shows every change immediately.
      RATE_LIMIT_SECONDS: '0',
    },
  });
}

/** The vendor of the agents that have a lane: the real one if there is one, else a process of the demo. Returns its URL. */
function startVendor({ children, root, progress }: FleetContext, port: number): string {
  const real = process.env['OPENAI_BASE_URL'];
  if (real) return real;
  progress(`the vendor of the model on ${urlOf(port)}`);
  children.start({
    name: 'vendor',
    program: join(root, 'examples/demo/vendor/main.ts'),
    env: { PORT: String(port) },
  });
  return urlOf(port);
}

function startAgent(context: FleetContext, { name, agentUrl, controlUrl, lanesUrl }: DemoAgent): void {
  // The variable that the injector writes in a cluster.
  const modelUrl = lanesUrl === null ? process.env['OPENAI_BASE_URL'] : `${lanesUrl}/openai/v1`;
  const env = {
    HOST,
    PORT: new URL(agentUrl).port,
    PLATFORM_SIDECAR_URL: controlUrl,
    OPENAI_API_KEY: process.env['OPENAI_API_KEY'] ?? 'built-in',
    ...(modelUrl ? { OPENAI_BASE_URL: modelUrl } : {}),
  };
  const manifest = manifestOf(context, name);
  const { children, python, root } = context;
  if (name !== PYTHON_AGENT)
    children.start({
      name: `agent-${name}`,
      program: bundle(context, 'example-agents'),
      env: { ...env, AGENT_PROFILE: name, MANIFEST_PATH: manifest },
    });
  else if ('command' in python)
    children.start({
      name: `agent-${name}`,
      program: join(root, PYTHON_FOLDER, 'main.py'),
      python: python.command,
      env: {
        ...env,
        AGENT_MANIFEST: manifest,
        PYTHONPATH: join(root, 'python/src'),
        // No files in the checkout.
        PYTHONDONTWRITEBYTECODE: '1',
      },
    });
}

function startSidecar(
  context: FleetContext,
  agent: DemoAgent,
  { controlPlaneUrl, vendorUrl }: { controlPlaneUrl: string; vendorUrl: string },
): void {
  const mode = LANE_MODES[agent.name];
  context.children.start({
    name: `sidecar-${agent.name}`,
    program: bundle(context, 'sidecar'),
    env: {
      BIND_ADDRESS: HOST,
      UPSTREAM_URL: agent.agentUrl,
      // Names in the agent's environment, set by the injector in a cluster.
      AGENT_ENV_NAMES: 'OPENAI_API_KEY',
      MANIFEST_PATH: manifestOf(context, agent.name),
      PROXY_PORT: new URL(agent.proxyUrl).port,
      CONTROL_PLANE_PORT: new URL(agent.controlUrl).port,
      PLATFORM_URL: controlPlaneUrl,
      PLATFORM_TOKEN_FILE: keyFileOf(context.folder, agent.name),
      HEARTBEAT_SECONDS: '10',
      POLICY_ENGINE: 'builtin',
      ...(mode !== undefined &&
        agent.lanesUrl !== null && {
          EGRESS_LANES: `openai=${vendorUrl}`,
          EGRESS_PORT: new URL(agent.lanesUrl).port,
          EGRESS_MODE: mode,
        }),
    },
  });
}

const dataOf = ({ folder }: FleetContext): string => join(folder, 'data');

function keyFileOf(folder: string, name: string): string {
  return join(folder, `${name}.key`);
}

const PYTHON_FOLDER = 'examples/agents-python/demo';

/** Python reads JSON without a package. */
export function manifestOf({ root }: { root: string }, name: string): string {
  if (name === PYTHON_AGENT) return join(root, PYTHON_FOLDER, 'agent.json');
  return join(root, 'examples/agents', name, 'agent.yaml');
}

function bundle({ root }: FleetContext, part: string): string {
  const path = join(root, 'dist', part, 'main.js');
  if (!existsSync(path)) throw new Error(`dist/${part}/main.js is missing: run "make build" first`);
  return path;
}
