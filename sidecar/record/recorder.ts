import type { RecordEvent } from '../../core/record/record-event.ts';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import type { EgressCall } from '../../core/shapes/egress-call.ts';
import type { Issue } from '../../core/shapes/gap.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { StreamReader } from '../audit/stream-reader.ts';
import type { RECORDED } from './record-fields.ts';
import type { RecordWriter } from './record-writer.ts';

export interface RecorderOptions {
  audit: AuditLog;
  writer: RecordWriter;
  events: (typeof RECORDED)[number];
  clock: Clock;
}

/** After the first event, in milliseconds. */
const BATCH_MS = 20;
/** Events after which a batch is written without waiting. */
const BATCH_EVENTS = 256;
/** Maximum wait for the identity of a request, in milliseconds. */
const IDENTITY_MS = 1_000;
/** Events that wait for their batch, in addition to completed requests. */
const MAX_WAITING = 4_096;

interface Held {
  event: RecordEvent;
  request: AuditEntry;
  untilMs: number;
}

/** Makes events of what the sidecar does and hands them to the writer in batches, after the responses that they describe. */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #reader: StreamReader;
  readonly #unsubscribe: () => void;
  #waiting: { event: RecordEvent; request: AuditEntry | null }[] = [];
  /** Events whose identity is being verified. */
  #held: Held[] = [];
  /** Open findings by property. */
  #findings = new Map<string, Issue>();
  #pending = 0;
  #isClosed = false;
  #timer: NodeJS.Timeout | null = null;
  #isSoon = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#reader = new StreamReader(options.audit, { since: null, limit: undefined });
    this.#unsubscribe = options.audit.journal.subscribe(() => this.#schedule());
  }

  /** A call that is over. `call` may still change until the batch is written. */
  call(call: Omit<EgressCall, 'at'> & { at: number }, request: AuditEntry | null): void {
    const { events } = this.#options;
    if (events === 'decisions' && isUndecided(call.outcome)) return;
    this.add({ kind: 'call', call, at: call.at, request }, request);
  }

  /** The issues of an assessment: what is new is opened, what is gone is closed. */
  issues(issues: readonly Issue[]): void {
    const at = this.#options.clock.now().getTime();
    const open = new Map(issues.map((issue) => [issue.property, issue]));
    for (const [property, issue] of open)
      if (!this.#findings.has(property)) this.add({ kind: 'finding', issue, state: 'opened', at });
    for (const [property, issue] of this.#findings)
      if (!open.has(property)) this.add({ kind: 'finding', issue, state: 'closed', at });
    this.#findings = open;
  }

  add(event: RecordEvent, request: AuditEntry | null = null): void {
    if (this.#isClosed) return;
    if (this.#waiting.length < MAX_WAITING) this.#waiting.push({ event, request });
    else this.#options.writer.lose(1);
    this.#schedule();
  }

  /** Writes all events until now, also those whose identity is not known yet, and then the event `stopped`. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#unsubscribe();
    this.#pump(Infinity);
    if (this.#timer !== null) clearTimeout(this.#timer);
    const { writer, clock } = this.#options;
    writer.add({ kind: 'lifecycle', state: 'stopped', at: clock.now().getTime() });
    await writer.close();
  }

  #schedule(): void {
    this.#pending += 1;
    if (this.#pending >= BATCH_EVENTS) {
      if (this.#isSoon) return;
      this.#isSoon = true;
      setImmediate(() => this.#pump(this.#options.clock.monotonicMs()));
    } else this.#timer ??= setTimeout(() => this.#pump(this.#options.clock.monotonicMs()), BATCH_MS).unref();
  }

  #pump(nowMs: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#isSoon = false;
    this.#pending = 0;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#release(nowMs);
    for (const { event, request } of waiting) this.#write(event, request, nowMs);
    this.#pumpRequests(nowMs);
    this.#options.writer.flush();
    if (this.#held.length > 0)
      this.#timer ??= setTimeout(() => this.#pump(this.#options.clock.monotonicMs()), BATCH_MS).unref();
  }

  #pumpRequests(nowMs: number): void {
    const { events, writer } = this.#options;
    for (let message = this.#reader.next(); message !== null; message = this.#reader.next()) {
      if (message.kind === 'gap') writer.lose(message.lost ?? 1);
      else if (message.kind === 'entry') {
        const { entry } = message;
        if (events === 'all' || !isUndecided(entry.outcome))
          this.#write({ kind: 'request', entry }, entry, nowMs);
      }
    }
  }

  #write(event: RecordEvent, request: AuditEntry | null, nowMs: number): void {
    const isLast = nowMs === Infinity || this.#held.length >= MAX_WAITING;
    if (request === null || isLast || !isIdentityPending(request)) this.#options.writer.add(event);
    else this.#held.push({ event, request, untilMs: nowMs + IDENTITY_MS });
  }

  #release(nowMs: number): void {
    const held = this.#held;
    if (held.length === 0) return;
    this.#held = [];
    for (const each of held)
      if (each.untilMs > nowMs && isIdentityPending(each.request)) this.#held.push(each);
      else this.#options.writer.add(each.event);
  }
}

const isUndecided = (outcome: AuditEntry['outcome']): boolean =>
  outcome === 'allow' || outcome === 'notEvaluated';

/** The result of a verification replaces the members of the identity. */
const isIdentityPending = ({ identity }: AuditEntry): boolean => identity?.reason === 'pending';
