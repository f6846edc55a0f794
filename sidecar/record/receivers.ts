import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { isRecord, jsonOf } from '../../core/untrusted/fields.ts';
import { postJson } from '../../push/post-json.ts';
import { detailOf, postAuditEvents, urlBelow, type AuthorizedRequest } from '../../push/push-heartbeat.ts';
import { parseRetryAfter } from '../../push/schedule.ts';
import type { Clock } from '../../runtime/clock.ts';
import { describeError } from '../../runtime/logger.ts';
import type { RecordedLine } from './recorded-line.ts';

/** The control plane with the credential of the heartbeats. */
export type Authorize = (signal: AbortSignal) => Promise<AuthorizedRequest>;

export type SendOutcome =
  /** `rejected`: lines that the receiver did not take. */
  | { kind: 'accepted'; rejected: number }
  /** The same lines are sent again. `afterMs`: when the receiver wants that; null: it does not say. */
  | { kind: 'failed'; reason: string; afterMs: number | null }
  /** A further attempt cannot change the response. */
  | { kind: 'rejected'; reason: string };

/** Where a copy of the record is sent. */
export interface Receiver {
  name: 'control-plane' | 'otlp';
  /** Never rejects. */
  send(lines: readonly RecordedLine[], signal: AbortSignal): Promise<SendOutcome>;
}

const compress = promisify(gzip);
const TIMEOUT_MS = 10_000;
/** A control plane of an earlier version may be upgraded, and one that keeps no events may get another store. */
const NO_ROUTE_PAUSE_MS = 300_000;
const NO_ROUTE: ReadonlySet<number> = new Set([404, 405, 501]);
/** The lines are not valid for the control plane. */
const INVALID: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);

/**
 * The control plane. An event that arrives twice is one event, so lines are sent again after
 * every other failure.
 */
export const controlPlane = (authorize: Authorize, clock: Pick<Clock, 'now'>): Receiver => ({
  name: 'control-plane',
  async send(lines, signal) {
    const text = lines.map((line) => `${line.text}\n`).join('');
    const reply = await authorize(signal).then(
      async (request) => postAuditEvents(request, await compress(text)),
      (error: unknown) => ({ reason: describeError(error) }),
    );
    if ('reason' in reply) return { kind: 'failed', reason: reply.reason, afterMs: null };
    const { status, headers, body } = reply;
    if (status >= 200 && status < 300) return { kind: 'accepted', rejected: 0 };
    const reason = `status ${status} ${detailOf(body)}`.trimEnd();
    if (INVALID.has(status)) return { kind: 'rejected', reason };
    const afterMs = NO_ROUTE.has(status)
      ? NO_ROUTE_PAUSE_MS
      : parseRetryAfter(headers['retry-after'], clock.now());
    return { kind: 'failed', reason, afterMs };
  },
});

/** Severity numbers of OpenTelemetry by those of OCSF. */
const SEVERITY_NUMBERS = [9, 9, 10, 13, 17, 21] as const;
/** Statuses after which OTLP/HTTP allows a retry. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** A collector that receives OTLP/HTTP. `url`: without `/v1/logs`. */
export const collector = (url: URL, agent: string, clock: Pick<Clock, 'now'>): Receiver => ({
  name: 'otlp',
  async send(lines, signal) {
    const body = JSON.stringify(exportOf(lines, agent));
    const reply = await postJson({
      url: urlBelow(url, '/v1/logs'),
      body,
      timeoutMs: TIMEOUT_MS,
      signal,
    }).catch((error: unknown) => ({ reason: describeError(error) }));
    if ('reason' in reply) return { kind: 'failed', reason: reply.reason, afterMs: null };
    const { status, headers } = reply;
    if (status >= 200 && status < 300) return { kind: 'accepted', rejected: rejectedIn(reply.body) };
    const reason = `status ${status}`;
    if (!RETRYABLE.has(status)) return { kind: 'rejected', reason };
    return { kind: 'failed', reason, afterMs: parseRetryAfter(headers['retry-after'], clock.now()) };
  },
});

const exportOf = (lines: readonly RecordedLine[], agent: string) => ({
  resourceLogs: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: agent } }] },
      scopeLogs: [
        {
          scope: { name: 'agent-audit' },
          logRecords: lines.map(({ text, event: { time, severity_id } }) => ({
            timeUnixNano: `${time}000000`,
            severityNumber: SEVERITY_NUMBERS[severity_id] ?? SEVERITY_NUMBERS[5],
            body: { stringValue: text },
          })),
        },
      ],
    },
  ],
});

/** The `partialSuccess.rejectedLogRecords` of a response: a number, or a 64-bit integer as text. */
function rejectedIn(body: string): number {
  const reply = jsonOf(body);
  const partial = isRecord(reply) ? reply['partialSuccess'] : undefined;
  const rejected = isRecord(partial) ? Number(partial['rejectedLogRecords']) : 0;
  return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
}
