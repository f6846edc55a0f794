import { request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createSecureContext } from 'node:tls';
import { FAIL_OPEN, type FailModes } from '../../core/egress/fail-modes.ts';
import { parseLanes } from '../../core/egress/lanes.ts';
import { WIRE_OF } from '../../core/egress/wires/wire-of.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import type { OrganisationDirective } from '../../core/shapes/directive.ts';
import type { PolicyEngine } from '../../core/policy/engine.ts';
import type { PolicyMode } from '../../core/shapes/values.ts';
import { builtinEngine, policyOf } from '../../core/policy/policy.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { systemClock, type Clock } from '../../runtime/clock.ts';
import { silentLogger, type Logger } from '../../runtime/logger.ts';
import type { KeyPair } from '../../runtime/http-listener.ts';
import { AuditLog } from '../../sidecar/audit/audit-log.ts';
import type { OnForbiddenTool } from '../../sidecar/egress/egress-fields.ts';
import { Egress } from '../../sidecar/egress/egress.ts';
import { RequestTraces } from '../../sidecar/otlp/request-traces.ts';
import { PolicyEvaluator } from '../../sidecar/policy/policy-evaluator.ts';
import { StopSwitch } from '../../sidecar/stop/stop-switch.ts';
import { LoadLimits } from '../../sidecar/proxy/load-limits.ts';
import { issueCa, issueLeaf } from '../../webhook/certificates/issue.ts';

/** A request that the vendor received. */
export interface SeenRequest {
  method: string;
  url: string;
  rawHeaders: string[];
  headers: IncomingMessage['headers'];
  body: string;
  bytes: Buffer;
}

/** A vendor of models with TLS, whose certificate is signed by a CA of its own. */
export interface TlsVendor {
  url: string;
  server: Server;
  ca: KeyPair;
  requests: SeenRequest[];
  /** Responds after the body of a request was received. */
  respond: (seen: SeenRequest, response: Parameters<RequestListener>[1]) => void;
  close(): Promise<void>;
}

export async function startTlsVendor(): Promise<TlsVendor> {
  const validity = { now: new Date(), days: 1 };
  const ca = await issueCa(validity);
  const server = createServer(await issueLeaf(ca, ['localhost', '127.0.0.1'], validity));
  server.on('request', (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', rawHeaders, headers } = request;
      const bytes = Buffer.concat(chunks);
      const seen = { method, url, rawHeaders, headers, body: bytes.toString(), bytes };
      vendor.requests.push(seen);
      vendor.respond(seen, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const vendor: TlsVendor = {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    ...{ server, ca, requests: [] },
    respond: (_seen, response) => void response.writeHead(404).end(),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return vendor;
}

export interface EgressRigOptions {
  /** EGRESS_LANES; `vendor` stands for the URL of the vendor. */
  lanes?: string;
  mode?: PolicyMode;
  /** Default: all lanes fail open. */
  failModes?: FailModes;
  onForbiddenTool?: OnForbiddenTool;
  manifest?: Manifest;
  /** Default: no rules of the organisation. */
  directive?: OrganisationDirective | 'awaited';
  /** Default: the builtin engine. */
  engine?: PolicyEngine | null;
  /** false: the lanes do not trust the CA of the vendor. */
  isTrusted?: boolean;
  memoryBytes?: number;
  clock?: Clock;
  /** Default: silent. */
  logger?: Logger;
}

export interface EgressRig {
  port: number;
  url: string;
  vendor: TlsVendor;
  egress: Egress;
  audit: AuditLog;
  load: LoadLimits;
  stop: StopSwitch;
  traces: RequestTraces;
  close(): Promise<void>;
}

/** The lanes of a sidecar in front of a vendor. */
export async function startEgressRig(options: EgressRigOptions = {}): Promise<EgressRig> {
  const vendor = await startTlsVendor();
  const parsed = parseLanes((options.lanes ?? 'openai=vendor/v1').replaceAll('vendor', vendor.url));
  if ('problem' in parsed) throw new Error(parsed.problem);
  const [port = 0] = await freePorts(1);
  const clock = options.clock ?? systemClock;
  const manifest = options.manifest ?? laneManifest();
  const load = new LoadLimits(options.memoryBytes ?? 1024 ** 3);
  const audit = new AuditLog({
    ...{ capacity: 100, clock, withQuery: false, maxEventBytes: load.maxEventBytes },
    declared: () => ({ chatPath: undefined, isMcp: false }),
    keepForUsage: (bytes) => load.keepForUsage(bytes),
  });
  const logger = options.logger ?? silentLogger;
  const stop = new StopSwitch({ clock, logger, signal: new AbortController().signal });
  const policy = policyOf(manifest);
  const traces = new RequestTraces(clock, 100);
  const secureContext = createSecureContext({ ca: vendor.ca.cert });
  const egress = new Egress({
    ...{ lanes: parsed.lanes, port, capacity: 100, wires: WIRE_OF, audit, load, stop, traces, clock },
    onCall: null,
    mode: options.mode ?? 'enforce',
    failModes: options.failModes ?? FAIL_OPEN,
    onForbiddenTool: options.onForbiddenTool ?? 'strip',
    tls: { rejectUnauthorized: true, ...(options.isTrusted !== false && { secureContext }) },
    manifest: () => manifest,
    directive: () => options.directive ?? null,
    totals: () => audit.totalsToday(undefined),
    policy: new PolicyEvaluator({
      mode: 'track',
      engine: options.engine === undefined ? builtinEngine(() => policy) : options.engine,
      policy: () => policy,
      isLoaded: () => true,
      totals: () => audit.totalsToday(undefined),
      onReviewed: () => undefined,
      onResult: () => undefined,
      now: () => clock.monotonicMs(),
    }),
    logger,
  });
  await egress.start();
  return {
    ...{ port, url: `http://127.0.0.1:${port}`, vendor, egress, audit, load, stop, traces },
    close: async () => {
      await egress.close(0);
      await vendor.close();
    },
  };
}

/** An agent with the model gpt-5 and the tools search, pay (with constraints) and drop (destructive). */
export function laneManifest(spec: Partial<Manifest['spec']> = {}): Manifest {
  return {
    apiVersion: 'platform.io/v1',
    kind: 'PlatformAgent',
    metadata: { name: 'shop', version: '1.0.0', description: 'Sells.' },
    spec: {
      model: { provider: 'openai', id: 'gpt-5', apiKey: '$env:OPENAI_API_KEY' },
      tools: [
        { name: 'search' },
        { name: 'drop', annotations: { destructiveHint: true } },
        { name: 'pay', constraints: { type: 'object', properties: { amount: { maximum: 100 } } } },
      ],
      ...spec,
    },
  };
}

export interface LaneResponse {
  status: number;
  headers: IncomingMessage['headers'];
  body: string;
  bytes: Buffer;
}

/** Sends one request to the lanes. `headers`: undefined removes a header. */
export function post(
  port: number,
  path: string,
  body: unknown,
  headers: Record<string, string | undefined> = {},
): Promise<LaneResponse> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, method: 'POST', agent: false } as const;
    const all = { 'content-type': 'application/json', authorization: 'Bearer sk-secret', ...headers };
    const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    const request = httpRequest({ ...options, headers: sent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      response.on('end', () => {
        const { statusCode: status = 0, headers: received } = response;
        const bytes = Buffer.concat(chunks);
        resolve({ status, headers: received, body: bytes.toString(), bytes });
      });
    });
    request
      .on('error', reject)
      .end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));
  });
}
