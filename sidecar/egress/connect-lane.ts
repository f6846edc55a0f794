import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { helloProblem, parseConnectTarget, type ConnectTarget } from '../../core/egress/connect-target.ts';
import type { EgressCall } from '../../core/shapes/egress-call.ts';
import { createAddressGuard, guarded, RefusedAddress, type AddressGuard } from '../../probe/address-guard.ts';
import { isOwnAddress } from '../../probe/own-address.ts';
import type { Clock } from '../../runtime/clock.ts';
import { bind, endOf } from '../../runtime/http-listener.ts';
import type { Logger } from '../../runtime/logger.ts';
import { comesOverLoopback } from '../access.ts';
import { startOnLoopback } from '../loopback.ts';
import { lingerOn } from '../proxy/connection-end.ts';
import { problemBody } from '../proxy/problem-response.ts';
import { stoppedUpgrade } from '../stop/stopped-response.ts';
import type { StopSwitch } from '../stop/stop-switch.ts';
import { startTunnel } from './connect-tunnel.ts';

const HOST_NOT_DECLARED = 'host_not_declared';
const HOST_NOT_ALLOWED = 'host_not_allowed';

/** Limits of the lane; times in milliseconds. */
export interface ConnectLimits {
  /** Open tunnels, and requests for which a connection is being made. */
  tunnels: number;
  /** For the name and the connection to it. */
  connectMs: number;
  helloMs: number;
  idleMs: number;
  halfOpenMs: number;
}

const LIMITS: ConnectLimits = {
  tunnels: 256,
  connectMs: 10_000,
  helloMs: 10_000,
  idleMs: 30 * 60_000,
  halfOpenMs: 60_000,
};

/** A tunnel or a rejected CONNECT request, for the egress log, which adds the other fields. */
export type ConnectCall = Omit<EgressCall, 'id' | 'at' | 'outcome' | 'requestId'> & { at: Date };

export interface ConnectLaneOptions {
  /** `log`: undeclared hosts pass, with a violation. `deny`: they get 403. */
  mode: 'log' | 'deny';
  port: number;
  /** null: not known, because the manifest has references. Such a host passes. */
  isDeclaredHost: (host: string) => boolean | null;
  /** Whether the rules of the organisation allow it. */
  isAllowedHost: (host: string) => boolean;
  /** Hosts that the organisation does not allow get 403 in the mode `log`, too. */
  enforcesRules: boolean;
  /** Ports of the sidecar, which are not reachable through the lane under any address. */
  ownPorts: readonly number[];
  /** Called once for each request, when its host and its TLS handshake are judged, or when it failed. */
  onCall: (call: ConnectCall) => void;
  stop: StopSwitch;
  clock: Clock;
  logger: Pick<Logger, 'info'>;
  limits?: Partial<ConnectLimits>;
  /** Default: no loopback, link-local or metadata address, and no address of this machine. */
  guard?: AddressGuard;
}

/** One CONNECT request. */
interface Attempt {
  target: ConnectTarget;
  client: Socket;
  head: Buffer;
  at: Date;
  startedAtMs: number;
  violations: readonly string[];
}

/** Refuses the addresses of this machine and of metadata services: the sidecar has access to more than the agent. */
export function connectGuard(ownPorts: readonly number[]): AddressGuard {
  const metadata = createAddressGuard(ownPorts);
  return (address, port) =>
    isOwnAddress(address) ? 'addresses of this machine are not connected to' : metadata(address, port);
}

/** The proxy for `HTTPS_PROXY`: tunnels of CONNECT requests to declared hosts. Other requests get 405. */
export class ConnectLane {
  /** Since the start: tunnels, requests denied for their host, and requests that failed for another reason. */
  readonly counts = { tunnels: 0, denied: 0, failed: 0 };
  readonly #options: ConnectLaneOptions;
  readonly #limits: ConnectLimits;
  readonly #guard: AddressGuard;
  /** Stops the servers. */
  readonly #ends: ((graceMs: number) => Promise<void>)[] = [];
  readonly #clients = new Set<Socket>();
  /** Open tunnels, and requests for which a connection is being made. */
  #open = 0;

  constructor(options: ConnectLaneOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#guard = options.guard ?? connectGuard(options.ownPorts);
  }

  /** Open tunnels, and requests for which a connection is being made. */
  get open(): number {
    return this.#open;
  }

  /** Starts to listen on loopback and resolves with the port; rejects if the port is in use. */
  async start(): Promise<number> {
    let port = this.#options.port;
    await startOnLoopback(
      async (host) => {
        const server = this.#createServer();
        const end = endOf(server, { clock: this.#options.clock, onCut: this.#cut });
        port = await bind(server, { port, host });
        this.#ends.push(end);
      },
      () => this.close(0),
    );
    return port;
  }

  /** Accepts no more requests and cuts the tunnels that are open after `graceMs` milliseconds. */
  async close(graceMs: number): Promise<void> {
    await Promise.all(this.#ends.map((end) => end(graceMs)));
  }

  readonly #cut = (): void => {
    for (const client of this.#clients) client.destroy();
  };

  #createServer(): Server {
    // Node.js checks the time of request heads only at this interval.
    const times = { headersTimeout: 10_000, requestTimeout: 20_000, connectionsCheckingInterval: 1_000 };
    const server = createServer({ ...times, maxHeaderSize: 16 * 1024 }, respondOther);
    server.maxConnections = 2 * this.#limits.tunnels;
    server.on('connect', (request, client, head) => this.#connect(request, client as Socket, head));
    return server;
  }

  #connect({ url = '' }: IncomingMessage, client: Socket, head: Buffer): void {
    this.#clients.add(client);
    client.once('close', () => this.#clients.delete(client));
    client.on('error', () => client.destroy());
    if (!comesOverLoopback({ socket: client })) {
      respond(client, 403, 'this lane is available on loopback only');
      return;
    }
    const { current, refused } = this.#options.stop;
    if (current !== null) {
      refused.connect += 1;
      const { status, detail, headers } = stoppedUpgrade(current);
      respond(client, status, detail, linesOf(headers));
      return;
    }
    const target = parseConnectTarget(url);
    if (target === null) {
      respond(client, 400, 'the target of CONNECT is host:port');
      return;
    }
    const { mode, enforcesRules, clock } = this.#options;
    const violations = this.#violationsOf(target.host);
    const times = { at: clock.now(), startedAtMs: clock.monotonicMs() };
    const attempt: Attempt = { ...times, target, client, head, violations };
    const refusal = guarded(this.#guard, target.host, target.port);
    const isDenied = mode === 'deny' || (enforcesRules && violations.includes(HOST_NOT_ALLOWED));
    if (violations.length > 0 && isDenied) this.#deny(attempt);
    else if (refusal.refusal !== null) this.#fail(attempt, 403, refusal.refusal);
    else if (this.#open >= this.#limits.tunnels)
      this.#fail(attempt, 503, 'too many tunnels at the same time');
    else this.#dial(attempt, refusal.lookup);
  }

  /** Connects to the addresses that the guard has checked, and to no other. */
  #dial(attempt: Attempt, lookup: LookupFunction | undefined): void {
    const { client, target } = attempt;
    const to = { host: target.host, port: target.port, ...(lookup && { lookup }) };
    const upstream = connect({ ...to, noDelay: true, allowHalfOpen: true });
    const timer = setTimeout(() => {
      end(504, 'the host did not accept a connection in time');
    }, this.#limits.connectMs).unref();
    const settle = (): void => {
      clearTimeout(timer);
      upstream.off('error', failed);
      client.off('close', left);
    };
    const end = (statusCode: number | null, detail: string): void => {
      settle();
      upstream.on('error', () => undefined).destroy();
      this.#fail(attempt, statusCode, detail);
    };
    const failed = (error: Error): void => {
      if (error instanceof RefusedAddress) end(403, error.message);
      else end(502, 'the host is not reachable');
    };
    const left = (): void => end(null, 'the client disconnected');
    this.#open += 1;
    const ended = this.#options.stop.onStop(() => {
      client.resetAndDestroy();
      upstream.destroy();
      return 1;
    });
    upstream.once('close', () => {
      this.#open -= 1;
      ended();
    });
    client.once('close', left);
    upstream.once('error', failed);
    upstream.once('connect', () => {
      settle();
      this.#tunnel(attempt, upstream);
    });
  }

  #tunnel(attempt: Attempt, upstream: Socket): void {
    const { client, head, target, violations } = attempt;
    const { mode, isDeclaredHost } = this.#options;
    this.counts.tunnels += 1;
    client.write(`HTTP/1.1 200 Connection established\r\n${headerOf(violations)}\r\n`);
    const isIpAddress = isIP(target.host) > 0;
    startTunnel({
      ...{ client, upstream, head, ...this.#limits },
      judge: (hello) => {
        const isDeclared = (host: string): boolean | null =>
          this.#options.isAllowedHost(host) ? isDeclaredHost(host) : false;
        const rule = { target, isIpAddress, isDeclared };
        const problem = hello === null ? null : helloProblem({ ...rule, hello });
        const found = problem === null ? violations : [HOST_NOT_DECLARED];
        const isCut = problem !== null && mode === 'deny';
        if (isCut) this.counts.denied += 1;
        this.#log(attempt, { statusCode: 200, violations: found, blocked: isCut, detail: problem });
        return !isCut;
      },
    });
  }

  #violationsOf(host: string): string[] {
    const { isDeclaredHost, isAllowedHost } = this.#options;
    return [
      ...(isDeclaredHost(host) === false ? [HOST_NOT_DECLARED] : []),
      ...(isAllowedHost(host) ? [] : [HOST_NOT_ALLOWED]),
    ];
  }

  #deny(attempt: Attempt): void {
    this.counts.denied += 1;
    const { client, violations, target } = attempt;
    const who = violations.includes(HOST_NOT_DECLARED)
      ? 'manifest does not declare'
      : 'organisation does not allow';
    respond(client, 403, `the ${who} the host ${target.host}`, headerOf(violations));
    this.#log(attempt, { statusCode: 403, violations, blocked: true, detail: null });
  }

  /** `statusCode` null: the client has disconnected. */
  #fail(attempt: Attempt, statusCode: number | null, detail: string): void {
    this.counts.failed += 1;
    const { client, violations } = attempt;
    if (statusCode !== null) respond(client, statusCode, detail, headerOf(violations));
    this.#log(attempt, { statusCode, violations, blocked: statusCode === 403, detail });
  }

  #log(
    { target, at, startedAtMs }: Attempt,
    result: Pick<ConnectCall, 'statusCode' | 'violations' | 'blocked'> & { detail: string | null },
  ): void {
    const { onCall, clock, logger } = this.#options;
    const { detail, ...rest } = result;
    const path = `${isIP(target.host) === 6 ? `[${target.host}]` : target.host}:${target.port}`;
    if (detail !== null || rest.violations.length > 0)
      logger.info('tunnel', { target: path, detail, ...rest });
    const none = {
      model: null,
      stream: false,
      toolsOffered: [],
      toolsCalled: [],
      toolsExecuted: [],
      usage: null,
    };
    const durationMs = Math.round(clock.monotonicMs() - startedAtMs);
    onCall({ at, lane: 'connect', method: 'CONNECT', path, ...none, ...rest, durationMs });
  }
}

function respondOther(_request: IncomingMessage, response: ServerResponse): void {
  const detail = 'this port accepts CONNECT only: set HTTPS_PROXY to it, and not HTTP_PROXY';
  const body = problemBody({ status: 405, detail });
  response.writeHead(405, { allow: 'CONNECT', 'content-type': PROBLEM, connection: 'close' }).end(body);
}

const PROBLEM = 'application/problem+json';
/** Sends a response to a CONNECT request instead of a tunnel, and ends the connection. */
function respond(client: Socket, status: number, detail: string, lines = ''): void {
  const body = problemBody({ status, detail });
  client.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: ${PROBLEM}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n${lines}\r\n${body}`,
  );
  lingerOn(client);
}

const linesOf = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name.toLowerCase()}: ${value}\r\n`)
    .join('');

/** Header lines of a denial. */
function headerOf(violations: readonly string[]): string {
  if (violations.length === 0) return '';
  return `x-platform-policy-violations: ${violations.join(',')}\r\nx-should-retry: false\r\n`;
}
