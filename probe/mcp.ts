import type { HostPort } from '../core/facts/address.ts';
import type { Reach } from '../core/facts/facts.ts';
import { isRecord, own } from '../core/untrusted/fields.ts';
import { createSseData } from '../core/usage/sse-data.ts';
import type { AddressGuard } from './address-guard.ts';
import { exchange, HTTP_TIMEOUT_MS, type Exchange, type ExchangeOptions } from './http-exchange.ts';

export interface McpProbe {
  /** A URL, or a host and a port: the path is then a guess. */
  address: { url: string } | HostPort;
  /** What the manifest says; unset: the current transport first, then the older one. */
  transport?: 'sse' | 'http' | undefined;
  /** Milliseconds for everything; default, and most, 5000. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
  guard?: AddressGuard | undefined;
}

/** What one way of asking found. `isThere`: somebody answered HTTP, and not that this is no MCP. */
type Outcome =
  | { isMcp: true }
  | (Pick<Exchange & { answered: false }, 'reason' | 'isRefused' | 'connectedMs'> & {
      isMcp: false;
      answered: boolean;
      isThere: boolean;
    });

type Limits = Pick<ExchangeOptions, 'timeoutMs' | 'signal' | 'guard'>;
type Way = (url: URL, limits: Limits) => Promise<Outcome>;

/** Most bytes that are read of an answer; a server's instructions are in it. */
const MAX_BYTES = 256 * 1024;
const GOODBYE_MS = 500;
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
 * Does an MCP server answer: a handshake over streamable HTTP, then over the older HTTP+SSE. A session that this opens is
 * ended. One that wants a key (401, 403) or slows down (429) is there; one with an error of its own (5xx), a web page and
 * silence are not. Where the path is a guess, a server that only does not know it (other 4xx) passes. With a host and a port
 * alone, a server that accepts the connection and speaks no HTTP passes: it may speak MCP over TCP. Never rejects.
 */
export async function mcpReach(probe: McpProbe): Promise<Reach> {
  const { address, transport, timeoutMs, signal, guard } = probe;
  const urls = urlsOf(address);
  if (urls === null) return { state: 'unknown', reason: 'its address is no http: or https: URL' };
  const ways: [Way, URL][] = [
    [initialize, urls.streamable],
    [listen, urls.sse],
  ];
  if (transport === 'sse') ways.reverse();
  const startedAt = performance.now();
  const limitMs = Math.min(timeoutMs ?? HTTP_TIMEOUT_MS, HTTP_TIMEOUT_MS);
  const leftMs = (): number => limitMs - (performance.now() - startedAt);
  const outcomes: (Outcome & { isMcp: false })[] = [];
  for (const [way, url] of ways) {
    const outcome = await way(url, { timeoutMs: Math.max(1, Math.round(leftMs())), signal, guard });
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

/** The first way is the one that was meant; a time-out is told with the whole limit, not with what was left of it. */
function reasonOf(outcomes: readonly (Outcome & { isMcp: false })[], limitMs: number): string {
  const [first] = outcomes;
  const isLate = first?.answered === false && first.reason.startsWith('no answer within');
  return isLate ? `no answer within ${limitMs / 1000} s` : (first?.reason ?? 'it was not asked');
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

/** Streamable HTTP: the server answers the first message of the handshake, as JSON or in an event stream. */
async function initialize(url: URL, limits: Limits): Promise<Outcome> {
  const options = {
    ...limits,
    method: 'POST',
    body: INITIALIZE,
    maxBytes: MAX_BYTES,
    headers: { accept: `application/json, ${EVENT_STREAM}`, 'content-type': 'application/json' },
  } as const;
  const first = await askForEvent(url, options, isReply);
  // Frameworks send `/mcp` to `/mcp/`, and MCP clients follow.
  const moved = redirectOf(first.answer, url);
  const { answer, found } = moved === null ? first : await askForEvent(moved, options, isReply);
  const outcome = found ? ({ isMcp: true } as const) : outcomeOf(answer);
  if (outcome.isMcp) await endSession(moved ?? url, answer, limits);
  return outcome;
}

/** HTTP+SSE: the server opens an event stream, whose first event tells where messages are posted. */
async function listen(url: URL, limits: Limits): Promise<Outcome> {
  const options = { ...limits, maxBytes: MAX_BYTES, headers: { accept: EVENT_STREAM } };
  const { answer, found } = await askForEvent(url, options, (_data, event) => event === 'endpoint');
  return found ? { isMcp: true } : outcomeOf(answer);
}

/** Reads an event stream to the first event that is wanted, any other answer to its end. */
async function askForEvent(
  url: URL,
  options: ExchangeOptions,
  isWanted: (data: string, event: string | null) => boolean,
): Promise<{ answer: Exchange; found: boolean }> {
  let found = false;
  const decoder = new TextDecoder();
  const events = createSseData((data, event) => (found ||= isWanted(data, event)), MAX_BYTES);
  const answer = await exchange(url, {
    ...options,
    isEnough: (chunk, headers) => {
      if (typeOf(headers) === EVENT_STREAM) events.write(decoder.decode(chunk, { stream: true }));
      return found;
    },
  });
  return { answer, found: found && answer.answered && isSuccess(answer.status) };
}

/** On its own origin, and without a change of method. */
function redirectOf(answer: Exchange, from: URL): URL | null {
  if (!answer.answered || (answer.status !== 307 && answer.status !== 308)) return null;
  const to = URL.parse(answer.headers.location ?? '', from.href);
  return to?.origin === from.origin ? to : null;
}

function outcomeOf(answer: Exchange): Outcome {
  const none = { isMcp: false, answered: true, isThere: false } as const;
  if (!answer.answered) return { ...answer, ...none, answered: false };
  const { status, headers, body } = answer;
  if (status === 401 || status === 403 || status === 429) return { isMcp: true };
  if (status >= 500) return { ...none, reason: `it answers ${status}` };
  if (status >= 300 && status <= 399)
    return { ...none, reason: `it redirects (${status}) to another address` };
  if (body !== null && isReply(body.toString('utf8'))) return { isMcp: true };
  if (status >= 400) return { ...none, isThere: true, reason: `it answers ${status} to an MCP handshake` };
  const type = typeOf(headers);
  const what = type === EVENT_STREAM ? 'an event stream that is not of MCP' : `${type}, which is not of MCP`;
  return { ...none, reason: `it answers an MCP handshake with ${what}` };
}

/** Is this a JSON-RPC answer to `initialize`. Every MCP server knows that method; others that speak JSON-RPC do not. */
function isReply(text: string): boolean {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return false;
  }
  if (!isRecord(message) || own(message, 'jsonrpc') !== '2.0') return false;
  const result = own(message, 'result');
  const error = own(message, 'error');
  if (isRecord(error)) return own(error, 'code') !== METHOD_NOT_FOUND;
  return isRecord(result) && typeof own(result, 'protocolVersion') === 'string';
}

const METHOD_NOT_FOUND = -32601;

/** A server keeps each session until it is told that nobody will come back. */
async function endSession(url: URL, answer: Exchange, limits: Limits): Promise<void> {
  const id = answer.answered ? answer.headers['mcp-session-id'] : undefined;
  if (typeof id !== 'string') return;
  await exchange(url, {
    ...limits,
    method: 'DELETE',
    headers: { 'mcp-session-id': id },
    timeoutMs: GOODBYE_MS,
  });
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

/** The media type, when it looks like one. */
function typeOf(headers: { 'content-type'?: string | undefined }): string {
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
  return /^[a-z0-9.+-]{1,60}\/[a-z0-9.+-]{1,60}$/.test(type) ? type : 'content of no known type';
}
