import { types } from 'node:util';
import type { HeartbeatReply } from '../core/heartbeat/heartbeat.ts';
import { isRecord, jsonOf } from '../core/untrusted/fields.ts';
import { readText } from './credentials.ts';
import { parseReply } from './parse-reply.ts';
import { postJson, type PostReply } from './post-json.ts';
import { parseRetryAfter } from './schedule.ts';

export type PushOutcome =
  | { kind: 'accepted'; reply: HeartbeatReply }
  /** 429, or 503 with Retry-After. */
  | { kind: 'limited'; status: number; retryAfterMs: number }
  /** The control plane rejected the heartbeat. */
  | { kind: 'refused'; status: number; detail: string }
  /** No complete response; the heartbeat may have arrived. */
  | { kind: 'failed'; reason: string };

export interface Endpoint {
  /** The control plane's base URL; a path in the URL is kept. */
  base: URL;
  caFile: string | null;
  timeoutMs: number;
}

export interface AuthorizedRequest {
  endpoint: Endpoint;
  bearer: string;
  signal: AbortSignal;
}

const MAX_DETAIL = 300;
/** The pause after a rate limit without Retry-After. */
const DEFAULT_LIMIT_MS = 10_000;

/** Sends one heartbeat; never rejects. `reason` and `detail` never contain the key. */
export async function pushHeartbeat(
  request: AuthorizedRequest,
  body: string,
  now: () => Date,
): Promise<PushOutcome> {
  let answer: PostReply;
  try {
    answer = await post(request, 'api/v1/heartbeat', body);
  } catch (error) {
    return { kind: 'failed', reason: redact(describe(error), request.bearer) };
  }
  const { status } = answer;
  if (status >= 200 && status < 300)
    return { kind: 'accepted', reply: status === 200 ? parseReply(answer.body) : {} };
  const retryAfterMs = parseRetryAfter(answer.headers['retry-after'], now());
  if (status === 429 || (status === 503 && retryAfterMs !== null))
    return { kind: 'limited', status, retryAfterMs: retryAfterMs ?? DEFAULT_LIMIT_MS };
  return { kind: 'refused', status, detail: redact(detailOf(answer.body), request.bearer) };
}

export type RenewalOutcome = { ok: true; key: string; expiresAt: Date } | { ok: false; reason: string };

/** `POST /api/v1/token`: exchanges a valid key for a new key; never rejects. */
export async function renewKey(request: AuthorizedRequest): Promise<RenewalOutcome> {
  let answer: PostReply;
  try {
    answer = await post(request, 'api/v1/token', null);
  } catch (error) {
    return { ok: false, reason: redact(describe(error), request.bearer) };
  }
  if (answer.status < 200 || answer.status >= 300)
    return {
      ok: false,
      reason: redact(`status ${answer.status}: ${detailOf(answer.body)}`, request.bearer),
    };
  const { apiKey, expiresAt } = membersOf(answer.body);
  const expiry = new Date(typeof expiresAt === 'string' ? expiresAt : Number.NaN);
  // Valid header values only: a key that cannot be sent would permanently stop the pushes.
  if (typeof apiKey !== 'string' || !/^[\x21-\x7e]{1,16384}$/.test(apiKey) || Number.isNaN(expiry.getTime()))
    return { ok: false, reason: 'the response contains no valid key' };
  return { ok: true, key: apiKey, expiresAt: expiry };
}

async function post(request: AuthorizedRequest, path: string, body: string | null): Promise<PostReply> {
  const { endpoint, bearer, signal } = request;
  // Read each time, because the control plane's CA may be rotated while this process runs.
  const ca = endpoint.caFile === null ? null : await readText('CA', endpoint.caFile);
  const base = endpoint.base.href.endsWith('/') ? endpoint.base : new URL(`${endpoint.base.href}/`);
  return postJson({ url: new URL(path, base), bearer, body, ca, timeoutMs: endpoint.timeoutMs, signal });
}

/** The `detail` of a problem body, else an empty text: an unknown body may contain anything. */
export function detailOf(body: string): string {
  const { detail } = membersOf(body);
  return typeof detail === 'string' ? detail.slice(0, MAX_DETAIL) : '';
}

function membersOf(body: string): Readonly<Record<'detail' | 'apiKey' | 'expiresAt', unknown>> {
  const none = { detail: undefined, apiKey: undefined, expiresAt: undefined };
  const value = jsonOf(body);
  return isRecord(value) ? { ...none, ...value } : none;
}

/** One line with the error's message, code and causes. */
export function describe(error: unknown): string {
  // Both checks: a Node.js error may come from another realm, and a DOMException is not a native error.
  if (!types.isNativeError(error) && !(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const message = error.message === '' ? error.name : error.message;
  const own = code === '' || message.includes(code) ? message : `${code}: ${message}`;
  return error.cause === undefined ? own : `${own} (${describe(error.cause)})`;
}

function redact(text: string, key: string): string {
  return key === '' ? text : text.replaceAll(key, '[secret]');
}
