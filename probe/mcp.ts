import type { HostPort } from '../core/facts/address.ts';
import type { Reach } from '../core/facts/facts.ts';
import { isRecord, own, jsonOf } from '../core/untrusted/fields.ts';
import { StreamReader } from '../core/usage/sse-data.ts';
import { SSE } from '../core/usage/sse-format.ts';
import type { AddressGuard } from './address-guard.ts';
import { exchange, HTTP_TIMEOUT_MS, type Exchange, type ExchangeOptions } from './http-exchange.ts';

export interface McpProbe {
  /** A URL, or a host and a port. With a host and a port, the path is a guess. */
  address: { url: string } | HostPort;
  /** The declared transport; unset: streamable HTTP first, then the older HTTP+SSE. */
  transport?: 'sse' | 'http' | undefined;
  /** Milliseconds for the whole probe; default and maximum 5000. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
  guard?: AddressGuard | undefined;
}

/** Result of one transport. `isThere`: a server responded over HTTP, and its response does not rule out MCP. */
type Outcome =
  | { isMcp: true }
  | (Pick<Exchange & { answered: false }, 'reason' | 'isRefused' | 'connectedMs'> & {
      isMcp: false;
      answered: boolean;
      isThere: boolean;
    });

type Limits = Pick<ExchangeOptions, 'timeoutMs' | 'signal' | 'guard'>;
type Handshake = (url: URL, limits: Limits) => Promise<Outcome>;

/** Maximum bytes read of a response, which may contain a server's long instructions. */
const MAX_BYTES = 256 * 1024;
const END_SESSION_MS = 500;
const EVENT_STREAM = 'text/event-stream';

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'agent-compliance-probe', version: '1.0.0' },
  },
});

/**
 * Checks that an MCP server responds: a handshake over streamable HTTP, then over the older HTTP+SSE. A session that the
 * probe opens is ended.
 * - Reachable: a valid handshake, a server that requires a key (401, 403) or limits the rate (429).
 * - Unreachable: a server error (5xx), a web page, no response.
 * - With a host and a port, the path is a guess, so another 4xx status counts as reachable. A server that accepts the
 *   connection but does not speak HTTP also counts as reachable, because it may use MCP over TCP.
 * Never rejects.
 */
export async function mcpReach(probe: McpProbe): Promise<Reach> {
  const { address, transport, timeoutMs, signal, guard } = probe;
  const urls = urlsOf(address);
  if (urls === null) return { state: 'unknown', reason: 'the address is not an http(s) URL' };
  const handshakes: [Handshake, URL][] = [
    [initialize, urls.streamable],
    [listen, urls.sse],
  ];
  if (transport === 'sse') handshakes.reverse();
  const startedAt = performance.now();
  const limitMs = Math.min(timeoutMs ?? HTTP_TIMEOUT_MS, HTTP_TIMEOUT_MS);
  const leftMs = (): number => limitMs - (performance.now() - startedAt);
  const outcomes: (Outcome & { isMcp: false })[] = [];
  for (const [handshake, url] of handshakes) {
    const outcome = await handshake(url, { timeoutMs: Math.max(1, Math.round(leftMs())), signal, guard });
    if (outcome.isMcp) return reachable(startedAt);
    if (outcome.isRefused === true) return { state: 'unknown', reason: outcome.reason };
    outcomes.push(outcome);
    if (!outcome.answered || leftMs() <= 0) break;
  }
  const isGuess = !('url' in address);
  const [first] = outcomes;
  const connectedMs = first?.answered === false ? first.connectedMs : undefined;
  if (isGuess && transport === undefined && connectedMs !== undefined)
    return { state: 'reachable', latencyMs: connectedMs };
  if (isGuess && outcomes.every(({ isThere }) => isThere)) return reachable(startedAt);
  return { state: 'unreachable', reason: reasonOf(outcomes, limitMs) };
}

function reachable(startedAt: number): Reach {
  return { state: 'reachable', latencyMs: Math.round(performance.now() - startedAt) };
}

/** Reports the first transport, which is the expected one. A time-out shows the whole limit, not the remaining time. */
function reasonOf(outcomes: readonly (Outcome & { isMcp: false })[], limitMs: number): string {
  const [first] = outcomes;
  const isLate = first?.answered === false && first.reason.startsWith('no response within');
  return isLate ? `no response within ${limitMs / 1000} s` : (first?.reason ?? 'not probed');
}

function urlsOf(address: McpProbe['address']): { streamable: URL; sse: URL } | null {
  if ('url' in address) {
    const url = URL.parse(address.url);
    return url !== null && /^https?:$/.test(url.protocol) ? { streamable: url, sse: url } : null;
  }
  const { host, port } = address;
  const origin = `${port === 443 ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const streamable = URL.parse('/mcp', origin);
  const sse = URL.parse('/sse', origin);
  return streamable === null || sse === null ? null : { streamable, sse };
}

/** Streamable HTTP: the server responds to the first handshake message, as JSON or in an event stream. */
async function initialize(url: URL, limits: Limits): Promise<Outcome> {
  const options = {
    ...limits,
    method: 'POST',
    body: INITIALIZE,
    maxBytes: MAX_BYTES,
    headers: { accept: `application/json, ${EVENT_STREAM}`, 'content-type': 'application/json' },
  } as const;
  const first = await requestEvent(url, options, isReply);
  // Frameworks redirect `/mcp` to `/mcp/`, and MCP clients follow.
  const moved = redirectOf(first.response, url);
  const { response, found } = moved === null ? first : await requestEvent(moved, options, isReply);
  const outcome = found ? ({ isMcp: true } as const) : outcomeOf(response);
  if (outcome.isMcp) await endSession(moved ?? url, response, limits);
  return outcome;
}

/** HTTP+SSE: the server opens an event stream whose first event contains the URL for messages. */
async function listen(url: URL, limits: Limits): Promise<Outcome> {
  const options = { ...limits, maxBytes: MAX_BYTES, headers: { accept: EVENT_STREAM } };
  const { response, found } = await requestEvent(url, options, (_data, event) => event === 'endpoint');
  return found ? { isMcp: true } : outcomeOf(response);
}

/** Reads an event stream up to the first wanted event, any other response to its end. */
async function requestEvent(
  url: URL,
  options: ExchangeOptions,
  isWanted: (data: string, event: string | null) => boolean,
): Promise<{ response: Exchange; found: boolean }> {
  let found = false;
  const decoder = new TextDecoder();
  const onData = (data: string, event: string | null): void => void (found ||= isWanted(data, event));
  const events = new StreamReader(SSE, { onData }, MAX_BYTES);
  const response = await exchange(url, {
    ...options,
    isEnough: (chunk, headers) => {
      if (typeOf(headers) === EVENT_STREAM) events.write(decoder.decode(chunk, { stream: true }));
      return found;
    },
  });
  return { response, found: found && response.answered && isSuccess(response.status) };
}

/** The target of a redirect to the same origin that keeps the method; else null. */
function redirectOf(response: Exchange, from: URL): URL | null {
  if (!response.answered || (response.status !== 307 && response.status !== 308)) return null;
  const to = URL.parse(response.headers.location ?? '', from.href);
  return to?.origin === from.origin ? to : null;
}

function outcomeOf(response: Exchange): Outcome {
  const none = { isMcp: false, answered: true, isThere: false } as const;
  if (!response.answered) return { ...response, ...none, answered: false };
  const { status, headers, body } = response;
  if (status === 401 || status === 403 || status === 429) return { isMcp: true };
  if (status >= 500) return { ...none, reason: `the server responded with ${status}` };
  if (status >= 300 && status <= 399)
    return { ...none, reason: `the server redirected (${status}) to another address` };
  if (body !== null && isReply(body.toString('utf8'))) return { isMcp: true };
  if (status >= 400)
    return { ...none, isThere: true, reason: `the server responded to an MCP handshake with ${status}` };
  const type = typeOf(headers);
  const what = type === EVENT_STREAM ? 'an event stream that is not MCP' : `${type}, which is not MCP`;
  return { ...none, reason: `the server responded to an MCP handshake with ${what}` };
}

/** Whether this is a JSON-RPC response to `initialize`. MCP servers know that method; other JSON-RPC servers do not. */
function isReply(text: string): boolean {
  const message = jsonOf(text);
  if (!isRecord(message) || own(message, 'jsonrpc') !== '2.0') return false;
  const result = own(message, 'result');
  const error = own(message, 'error');
  if (isRecord(error)) return own(error, 'code') !== METHOD_NOT_FOUND;
  return isRecord(result) && typeof own(result, 'protocolVersion') === 'string';
}

const METHOD_NOT_FOUND = -32601;

/** An MCP server keeps each session until the client deletes it. */
async function endSession(url: URL, response: Exchange, limits: Limits): Promise<void> {
  const id = response.answered ? response.headers['mcp-session-id'] : undefined;
  if (typeof id !== 'string') return;
  await exchange(url, {
    ...limits,
    method: 'DELETE',
    headers: { 'mcp-session-id': id },
    timeoutMs: END_SESSION_MS,
  });
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

/** The media type, if the header has a valid one. */
function typeOf(headers: { 'content-type'?: string | undefined }): string {
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
  return /^[a-z0-9.+-]{1,60}\/[a-z0-9.+-]{1,60}$/.test(type) ? type : 'content of unknown type';
}
