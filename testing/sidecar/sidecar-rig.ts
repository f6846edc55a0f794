import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../examples/demo/free-ports.ts';
import type { Clock } from '../../runtime/clock.ts';
import { readConfig } from '../../sidecar/config.ts';
import { recordingLogger, type LogEntry } from './recording-logger.ts';
import { startSidecar, type RunningSidecar } from '../../sidecar/start-sidecar.ts';

/** An agent whose responses a test can change while it runs. */
export interface FakeAgent {
  url: string;
  /** Responses by GET path: a status, or a JSON body with 200. Other paths return 404. */
  responses: Record<string, number | object>;
  /** Requests by path. */
  asked: Record<string, number>;
  /** Handler for paths that are not in `responses`. */
  otherwise: RequestListener | null;
  stop(): Promise<void>;
  /** On the same port as before. */
  restart(): Promise<void>;
}

export async function startAgent(responses: FakeAgent['responses'] = {}): Promise<FakeAgent> {
  const server: Server = createServer((request, response) => {
    const path = request.url ?? '';
    agent.asked[path] = (agent.asked[path] ?? 0) + 1;
    const content = agent.responses[path];
    if (content === undefined && agent.otherwise !== null) agent.otherwise(request, response);
    else if (typeof content === 'object')
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(content));
    else response.writeHead(content ?? 404).end();
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  // Reserves the port while the agent is stopped.
  const [port = 0] = await freePorts(1);
  await listen(port);
  const agent: FakeAgent = {
    url: `http://127.0.0.1:${port}`,
    responses,
    asked: {},
    otherwise: null,
    stop: async () => {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
    restart: () => listen(port),
  };
  return agent;
}

export interface SidecarRig {
  sidecar: RunningSidecar;
  agent: FakeAgent;
  folder: string;
  manifestPath: string;
  log: LogEntry[];
  /** Sends a request to the control port. */
  control(path: string, init?: RequestInit): Promise<Response>;
  /**
   * Resolves once all requests to the proxy are complete in the audit ring, except this number of open ones: a
   * client may receive its response earlier.
   */
  settled(underWay?: number): Promise<void>;
  /** JSON response of the control port. */
  report<T = Record<string, unknown>>(path: string, init?: RequestInit): Promise<T>;
  proxyUrl: string;
  close(): Promise<void>;
}

export interface SidecarRigOptions {
  /** The manifest's text. */
  manifest: string;
  agent?: FakeAgent['responses'];
  /** The agent is not started; `agent.restart()` starts it. */
  agentIsDown?: boolean;
  /** Variables in addition to UPSTREAM_URL and MANIFEST_PATH; shared by the agent and the sidecar. */
  env?: Record<string, string>;
  graceMs?: number;
  clock?: Clock;
  /** Default: 127.0.0.1. */
  bindAddress?: string;
}

/** Starts a sidecar in this process on free ports, in front of an agent on another port. */
export async function startSidecarRig(options: SidecarRigOptions): Promise<SidecarRig> {
  const folder = await mkdtemp(join(tmpdir(), 'sidecar-'));
  const manifestPath = join(folder, 'agent.yaml');
  await writeFile(manifestPath, options.manifest);
  const agent = await startAgent(options.agent);
  if (options.agentIsDown) await agent.stop();
  const env = { UPSTREAM_URL: agent.url, MANIFEST_PATH: manifestPath, ...options.env };
  const result = readConfig(env);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const log: SidecarRig['log'] = [];
  const logger = recordingLogger(log);
  const sidecar = await startSidecar({
    config: {
      ...result.config,
      BIND_ADDRESS: options.bindAddress ?? '127.0.0.1',
      PROXY_PORT: 0,
      CONTROL_PLANE_PORT: 0,
    },
    env,
    logger,
    graceMs: options.graceMs ?? 0,
    ...(options.clock && { clock: options.clock }),
  }).catch(async (error: unknown) => {
    await agent.stop();
    await rm(folder, { recursive: true });
    throw error;
  });
  const control = (path: string, init?: RequestInit) =>
    fetch(`http://127.0.0.1:${sidecar.controlPort}${path}`, init);
  return {
    sidecar,
    settled: (underWay = 0) => settle(control, underWay),
    agent,
    folder,
    manifestPath,
    log,
    control,
    report: async <T>(path: string, init?: RequestInit) => (await (await control(path, init)).json()) as T,
    proxyUrl: `http://127.0.0.1:${sidecar.proxyPort}`,
    close: async () => {
      await sidecar.close();
      await agent.stop();
      await rm(folder, { recursive: true });
    },
  };
}

async function settle(control: SidecarRig['control'], underWay: number): Promise<void> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const audit = await control('/audit?limit=1');
    await audit.text();
    const arrived = Number(audit.headers.get('x-platform-audit-last'));
    const metrics = await (await control('/metrics')).text();
    const outcomes = metrics.matchAll(/^platform_sidecar_requests_total\{outcome="\w+"\} (\d+)$/gm);
    const completed = [...outcomes].reduce((sum, [, count]) => sum + Number(count), 0);
    if (completed >= arrived - underWay) return;
    if (Date.now() > deadline) throw new Error(`${completed} of ${arrived} requests are complete`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A gap report without the times of its evidence, which differ between sidecars. */
export function withoutTimes(report: unknown): unknown {
  const text = JSON.stringify(report, (key, value: unknown) => (key === 'lastSeen' ? undefined : value));
  return JSON.parse(text) as unknown;
}

/** A manifest from parts of its spec; JSON is valid YAML. */
export function manifestText(spec: object = {}, metadata: object = {}): string {
  return JSON.stringify({
    apiVersion: 'platform.io/v1',
    kind: 'PlatformAgent',
    metadata: { name: 'shop', version: '1.0.0', description: 'sells things', ...metadata },
    spec: { model: { provider: 'openai', id: 'gpt-5', apiKey: '$env:OPENAI_API_KEY' }, ...spec },
  });
}
