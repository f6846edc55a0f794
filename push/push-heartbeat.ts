import type { HeartbeatReply } from '../core/shapes/heartbeat-reply.ts';
import { describeError } from '../core/untrusted/describe-error.ts';
import { isRecord, jsonOf } from '../core/untrusted/fields.ts';
import { readText } from './credentials.ts';
import { parseReply } from './parse-reply.ts';
import { postJson, type PostReply, type PostRequest } from './post-json.ts';
import { parseRetryAfter } from './schedule.ts';

export type PushOutcome =
  /** `body`: the whole response, for members that only some senders know. */
  | { kind: 'accepted'; reply: HeartbeatReply; body: string }
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

/** Visible ASCII, a valid header value: a key that cannot be sent would permanently stop the pushes. */
export const SENDABLE_KEY = /^[\x21-\x7e]{1,16384}$/;
const MAX_DETAIL = 300;
/** The pause after a rate limit without Retry-After. */
const DEFAULT_LIMIT_MS = 10_000;

/** Sends one heartbeat; never rejects. `reason` and `detail` never contain the key. */
export async function pushHeartbeat(
  request: AuthorizedRequest,
  body: string,
  now: () => Date,
): Promise<PushOutcome> {
  const response = await post(request, '/api/v1/heartbeat', body);
  if ('reason' in response) return { kind: 'failed', ...response };
  const { status } = response;
  if (status >= 200 && status < 300)
    return { kind: 'accepted', reply: status === 200 ? parseReply(response.body) : {}, body: response.body };
  const retryAfterMs = parseRetryAfter(response.headers['retry-after'], now());
  if (status === 429 || (status === 503 && retryAfterMs !== null))
    return { kind: 'limited', status, retryAfterMs: retryAfterMs ?? DEFAULT_LIMIT_MS };
  return { kind: 'refused', status, detail: redact(detailOf(response.body), request.bearer) };
}

/** Sends a manifest to be judged; never rejects. */
export const putManifest = (
  request: AuthorizedRequest,
  text: string,
): Promise<PostReply | { reason: string }> => post(request, '/api/v1/manifest', text, { method: 'PUT' });

/** Sends lines of an audit log. `body`: the lines, compressed with gzip; never rejects. */
export const postAuditEvents = (
  request: AuthorizedRequest,
  body: Buffer,
): Promise<PostReply | { reason: string }> =>
  post(request, '/api/v1/audit-events', body, {
    headers: { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' },
  });

export type RenewalOutcome = { ok: true; key: string; expiresAt: Date } | { ok: false; reason: string };

/** `POST /api/v1/token`: exchanges a valid key for a new key; never rejects. */
export async function renewKey(request: AuthorizedRequest): Promise<RenewalOutcome> {
  const response = await post(request, '/api/v1/token', null);
  if ('reason' in response) return { ok: false, ...response };
  if (response.status < 200 || response.status >= 300)
    return {
      ok: false,
      reason: redact(`status ${response.status}: ${detailOf(response.body)}`, request.bearer),
    };
  const { apiKey, expiresAt } = membersOf(response.body);
  const expiry = new Date(typeof expiresAt === 'string' ? expiresAt : Number.NaN);
  if (typeof apiKey !== 'string' || !SENDABLE_KEY.test(apiKey) || Number.isNaN(expiry.getTime()))
    return { ok: false, reason: 'the response contains no valid key' };
  return { ok: true, key: apiKey, expiresAt: expiry };
}

/** `reason`: why there is no complete response. */
async function post(
  { endpoint, bearer, signal }: AuthorizedRequest,
  path: string,
  body: string | Buffer | null,
  more: Pick<PostRequest, 'method' | 'headers'> = {},
): Promise<PostReply | { reason: string }> {
  const { base, caFile, timeoutMs } = endpoint;
  try {
    // Read each time, because the control plane's CA may be rotated while this process runs.
    const ca = caFile === null ? null : await readText('CA', caFile);
    return await postJson({
      ...{ url: urlBelow(base, path), bearer, body, ca, timeoutMs, signal },
      ...more,
    });
  } catch (error) {
    return { reason: redact(describeError(error), bearer) };
  }
}

/** The URL of a path below a base URL, whose own path is kept. */
export function urlBelow(base: URL, path: string): URL {
  const url = new URL(base);
  url.pathname = base.pathname.replace(/\/+$/, '') + path;
  url.search = '';
  url.hash = '';
  return url;
}

/** The `detail` of a problem body, else an empty text: an unknown body may contain anything. */
export function detailOf(body: string): string {
  const { detail } = membersOf(body);
  return typeof detail === 'string' ? detail.slice(0, MAX_DETAIL) : '';
}

function membersOf(body: string): { detail?: unknown; apiKey?: unknown; expiresAt?: unknown } {
  const value = jsonOf(body);
  return isRecord(value) ? value : {};
}

function redact(text: string, key: string): string {
  return key === '' ? text : text.replaceAll(key, '[secret]');
}
