import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import {
  connect,
  createServer as createTcpServer,
  type AddressInfo,
  type Server as TcpServer,
  type Socket,
} from 'node:net';
import { createSecureContext, createServer as createTlsServer } from 'node:tls';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { systemClock, type Clock } from '../../runtime/clock.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import type { PolicyEngine } from '../../core/policy/engine.ts';
import type { PolicyMode } from '../../core/shapes/values.ts';
import { policyOf } from '../../core/policy/policy.ts';
import { plainManifest } from '../manifests/plain-manifest.ts';
import { PolicyEvaluator } from '../../sidecar/policy/policy-evaluator.ts';
import { AuditLog } from '../../sidecar/audit/audit-log.ts';
import { createHttpUpstream } from '../../sidecar/http-client/create-http-upstream.ts';
import { Http2Refusals } from '../../sidecar/proxy/http2-refusal.ts';
import { LoadLimits } from '../../sidecar/proxy/load-limits.ts';
import { OutageLog } from '../../sidecar/proxy/outage-log.ts';
import { StopSwitch } from '../../sidecar/stop/stop-switch.ts';
import { startProxyServer, type ProxyServer } from '../../sidecar/proxy/proxy-server.ts';
import type { UpstreamRequest } from '../../sidecar/proxy/upstream.ts';
import { issueCa, issueLeaf } from '../../webhook/certificates/issue.ts';
import { recordingLogger, type LogEntry } from './recording-logger.ts';
import { until } from '../time/until.ts';

/** An agent and the sidecar's proxy in front of it, on real sockets. */
export interface ProxyRig {
  port: number;
  agent: Server | TcpServer;
  proxy: ProxyServer;
  audit: AuditLog;
  load: LoadLimits;
  stop: StopSwitch;
  http2: Http2Refusals;
  log: LogEntry[];
  close(): Promise<void>;
}

/** The certificate of an agent with TLS. */
export interface TlsIdentity {
  cert: string;
  key: string;
  /** The CA that signed it. */
  ca: string;
}

export interface RigOptions {
  timeoutMs?: number;
  /** How long the proxy keeps an idle connection to the agent; default as in production. */
  idleMs?: number;
  /** Reserves the agent's port while the agent is stopped. */
  agentGoesDown?: boolean;
  /** Path of UPSTREAM_URL. */
  prefix?: string;
  capacity?: number;
  withQuery?: boolean;
  /** The policy engine; default: none. */
  engine?: PolicyEngine;
  mode?: PolicyMode;
  manifest?: Manifest;
  /** Memory limit of the proxy; default: 4 GiB. */
  memoryBytes?: number;
  /** Default: the system's. */
  clock?: Clock;
  /** Called with each request that is sent to the agent. */
  onSend?: (request: UpstreamRequest) => void;
  /** The agent uses TLS; default: plain HTTP. */
  tls?: TlsIdentity;
}

const listening = async (server: Server | TcpServer, port: number): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

async function rigBefore(
  agent: Server | TcpServer,
  options: RigOptions,
  stop: () => void,
): Promise<ProxyRig> {
  const [wanted = 0] = options.agentGoesDown === true ? await freePorts(1) : [];
  const scheme = options.tls === undefined ? 'http' : 'https';
  const url = new URL(`${scheme}://127.0.0.1:${await listening(agent, wanted)}${options.prefix ?? ''}`);
  const before = await startProxyBefore(url, options);
  return {
    ...before,
    agent,
    close: async () => {
      await before.close();
      stop();
      if (agent.listening) await new Promise((resolve) => agent.close(resolve));
    },
  };
}

/** Starts only the proxy, in front of another agent. */
export async function startProxyBefore(url: URL, options: RigOptions = {}): Promise<Omit<ProxyRig, 'agent'>> {
  const log: ProxyRig['log'] = [];
  const logger = recordingLogger(log);
  const clock = options.clock ?? systemClock;
  const http2 = new Http2Refusals(logger);
  const load = new LoadLimits(options.memoryBytes ?? 4 * 1024 ** 3);
  const audit = new AuditLog({
    capacity: options.capacity ?? 100,
    clock,
    withQuery: options.withQuery ?? false,
    declared: () => ({ chatPath: undefined, isMcp: false }),
    keepForUsage: (bytes) => load.keepForUsage(bytes),
    maxEventBytes: load.maxEventBytes,
  });
  const policy = policyOf(options.manifest ?? plainManifest('shop', []));
  const { timeoutMs = null, idleMs, tls } = options;
  const agentAt = {
    ...{ url, timeoutMs },
    ...(idleMs !== undefined && { idleMs }),
    ...(tls !== undefined && {
      tls: { rejectUnauthorized: true as const, secureContext: createSecureContext({ ca: tls.ca }) },
    }),
  };
  const stop = new StopSwitch({ clock, logger, signal: new AbortController().signal });
  const upstream = createHttpUpstream(agentAt);
  const proxy = await startProxyServer(
    {
      upstream: {
        send: (request, handler) => {
          options.onSend?.(request);
          upstream.send(request, handler);
        },
        cut: () => upstream.cut(),
        close: () => upstream.close(),
      },
      audit,
      policy: new PolicyEvaluator({
        mode: options.mode ?? 'track',
        engine: options.engine ?? null,
        policy: () => policy,
        isLoaded: () => true,
        totals: () => audit.totalsToday(undefined),
        onReviewed: (entry, denials) => audit.reviewed(entry, denials),
        onResult: () => undefined,
        now: () => clock.monotonicMs(),
      }),
      onOverhead: () => undefined,
      clock,
      outages: new OutageLog(logger),
      load,
      stop,
      manifest: () => options.manifest ?? plainManifest('shop', []),
      traces: null,
      onArrival: null,
      isDraining: () => false,
    },
    { host: '127.0.0.1', port: 0, agent: agentAt, http2 },
  );
  return {
    port: proxy.port,
    proxy,
    audit,
    load,
    stop,
    http2,
    log,
    close: () => proxy.close(0),
  };
}

export function startRig(handler: RequestListener, options: RigOptions = {}): Promise<ProxyRig> {
  const agent = createServer(handler);
  return rigBefore(agent, options, () => agent.closeAllConnections());
}

/** An agent that sends raw bytes, for responses that no HTTP server would send. */
export function startRawRig(onSocket: (socket: Socket) => void, options: RigOptions = {}): Promise<ProxyRig> {
  const sockets = new Set<Socket>();
  const onConnection = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
    onSocket(socket);
  };
  const { tls } = options;
  const agent = tls === undefined ? createTcpServer(onConnection) : createTlsServer(tls, onConnection);
  return rigBefore(agent, options, () => {
    for (const socket of sockets) socket.destroy();
  });
}

export interface Response {
  status: number;
  message: string;
  headers: IncomingMessage['headers'];
  rawHeaders: string[];
  trailers: NodeJS.Dict<string>;
  body: string;
}

export interface Asked {
  method?: string;
  path?: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
}

/** Sends one request and returns the complete response; rejects if it is truncated. */
export function ask(
  port: number,
  { method = 'GET', path = '/', headers = {}, body }: Asked = {},
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port, method, path, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            message: response.statusMessage ?? '',
            headers: response.headers,
            rawHeaders: response.rawHeaders,
            trailers: response.trailers,
            body: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** Sends raw bytes and returns the data received until the connection closes or `untilText` is received. */
export function askRaw(port: number, bytes: string, untilText?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      if (untilText !== undefined && text.includes(untilText)) socket.destroy();
    });
    socket.on('close', () => resolve(text)).on('error', reject);
  });
}

/** A certificate, by default for the address of the agents here. */
export async function issueTlsIdentity(host = '127.0.0.1'): Promise<TlsIdentity> {
  const validity = { now: new Date(), days: 1 };
  const ca = await issueCa(validity);
  return { ...(await issueLeaf(ca, [host], validity)), ca: ca.cert };
}

/** The newest audit entry, after its response has closed. */
export async function completedEntry(rig: ProxyRig): Promise<AuditEntry> {
  await until(() => rig.audit.ring.newest(1)[0]?.outcome !== undefined, 'the entry’s completion');
  return rig.audit.ring.newest(1)[0]!;
}
