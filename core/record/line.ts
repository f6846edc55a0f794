import { vendorLaneOf, vendorOfLane } from '../egress/lane-variables.ts';
import type { EgressCall } from '../shapes/egress-call.ts';
import { ApiActivityLines, type ApiActivity, type Cut } from './api-activity.ts';
import { canonicalJson } from './canonical.ts';
import { factsOfCall, factsOfEntry } from './facts.ts';
import { otherEvent } from './other-events.ts';
import type { Place, RecordEvent, RecordSource } from './record-event.ts';

/** Bytes of a line. rsyslog cuts longer lines to 8,192 bytes. */
export const MAX_LINE_BYTES = 8_000;

const WHOLE: Cut = { list: Infinity, text: Infinity, untruncatedSize: null };
/** Lists are cut first. */
const CUTS = [
  { list: 20, text: 1_000 },
  { list: 5, text: 300 },
  { list: 1, text: 100 },
  // Also for control characters, which have six bytes each.
  { list: 1, text: 20 },
];
const READ_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/** What the manifest declares about a tool; absent: nothing. */
export type ToolHints = (tool: string) => { isReadOnly: boolean; isDestructive: boolean } | undefined;

export interface LinesOptions {
  source: RecordSource;
  /** The hints of the manifest in force. */
  hintsOf: ToolHints;
  /** The host of a lane's upstream; undefined: no such lane. */
  hostOf: (lane: string) => string | undefined;
}

/** Makes the lines of one process: canonical JSON (RFC 8785) without the newline, of at most MAX_LINE_BYTES. */
export class RecordLines {
  readonly #activities: ApiActivityLines;
  readonly #options: LinesOptions;

  constructor(options: LinesOptions) {
    this.#options = options;
    this.#activities = new ApiActivityLines(options.source);
  }

  line(event: RecordEvent, place: Place): string {
    const write = this.#writerOf(event, place);
    const line = write(WHOLE);
    // Each UTF-16 unit has at most three bytes.
    if (line.length * 3 <= MAX_LINE_BYTES) return line;
    const untruncatedSize = bytesOf(line);
    if (untruncatedSize <= MAX_LINE_BYTES) return line;
    for (const cut of CUTS) {
      const shorter = write({ ...cut, untruncatedSize });
      if (bytesOf(shorter) <= MAX_LINE_BYTES) return shorter;
    }
    throw new RangeError(`the ${event.kind} event has more than ${MAX_LINE_BYTES} bytes`);
  }

  #writerOf(event: RecordEvent, place: Place): (cut: Cut) => string {
    const { source } = this.#options;
    if (event.kind === 'request' || event.kind === 'call') {
      const activity =
        event.kind === 'request' ? requestOf(event, source.agent) : callOf(event, this.#options);
      return (cut) => this.#activities.line(activity, place, cut);
    }
    return (cut) => canonicalJson(otherEvent(event, { source, place, cut }));
  }
}

function requestOf({ entry }: RecordEvent & { kind: 'request' }, agent: string): ApiActivity {
  return {
    kind: 'request',
    time: Date.parse(entry.timestamp),
    activity: READ_METHODS.includes(entry.method) ? 2 : 99,
    operation: `${entry.method} ${entry.path}`,
    service: agent,
    requestId: entry.requestId,
    outcome: entry.outcome ?? 'notEvaluated',
    isBlocked: entry.blocked === true,
    violations: entry.policyViolations ?? [],
    statusCode: entry.statusCode ?? null,
    durationMs: entry.durationMs ?? 0,
    identity: entry.identity,
    address: entry.address ?? null,
    host: null,
    ...{ model: null, provider: null },
    usage: null,
    tools: [],
    facts: factsOfEntry(entry),
  };
}

function callOf(
  { call, at, request }: RecordEvent & { kind: 'call' },
  { hintsOf, hostOf }: LinesOptions,
): ApiActivity {
  const isMcp = call.lane.startsWith('mcp:');
  const kind = call.lane === 'connect' ? 'connect' : isMcp ? 'tool' : 'model';
  return {
    kind,
    time: at,
    activity: activityOf(call, isMcp, hintsOf),
    operation: `${call.method} ${call.path}`,
    service: call.lane,
    requestId: call.requestId,
    outcome: call.outcome,
    isBlocked: call.blocked,
    violations: call.violations,
    statusCode: call.statusCode,
    durationMs: call.durationMs,
    identity: request?.identity,
    address: null,
    host: kind === 'connect' ? call.path : (hostOf(call.lane) ?? call.lane),
    model: kind === 'model' ? call.model : null,
    provider: vendorLaneOf(call.lane) === null ? null : vendorOfLane(call.lane),
    usage: call.usage,
    tools: call.toolsCalled,
    facts: factsOfCall(call),
  };
}

/** The hints of a tool count only for the call of that tool: a model merely asks for it. */
function activityOf(
  { method, toolsCalled }: Omit<EgressCall, 'at'>,
  isMcp: boolean,
  hintsOf: ToolHints,
): 2 | 4 | 99 {
  if (READ_METHODS.includes(method)) return 2;
  if (!isMcp || toolsCalled.length === 0) return 99;
  const hints = toolsCalled.map(hintsOf);
  if (hints.some((each) => each?.isDestructive === true)) return 4;
  return hints.every((each) => each?.isReadOnly === true) ? 2 : 99;
}

const encoder = new TextEncoder();
const bytesOf = (text: string): number => encoder.encode(text).length;
