import { beforeEach, describe, expect, test } from '@jest/globals';
import { comparedTokensIn } from '../../core/behavior/lane-calls.ts';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import type { RingUsageReport } from '../../core/shapes/sidecar-reports.ts';
import type { ModelCall } from '../../core/shapes/request-usage.ts';
import { ringUsageReport } from '../../core/behavior/entry-usage.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { AuditLog } from './audit-log.ts';
import type { Recording } from './recording.ts';

const clock = new ManualClock('2026-11-23T12:00:00Z');
let audit: AuditLog;
let ids = 0;
beforeEach(() => {
  audit = new AuditLog({
    ...{ capacity: 100, clock, withQuery: false, maxEventBytes: 1e6 },
    declared: () => ({ chatPath: undefined, isMcp: false }),
    keepForUsage: () => true,
  });
});

const tokens = (promptTokens: number, completionTokens: number): ModelCall => ({
  ...{ modelId: 'gpt-5', promptTokens, completionTokens },
  totalTokens: promptTokens + completionTokens,
});
const finished = (usage: ModelCall | null) => ({
  model: 'gpt-5',
  tools: [],
  usage,
  isUsageUnknown: usage === null,
});
const arrive = (): Recording =>
  audit.arrive({ requestId: `r-${(ids += 1)}`, method: 'POST', target: '/v1/chat' });

/** Completes a request whose response states this usage. */
function complete(recording: Recording, usage: ModelCall | null): AuditEntry {
  recording.head({
    statusCode: 200,
    contentType: 'application/json',
    contentEncoding: undefined,
    platform: new Map(),
  });
  if (usage !== null)
    recording.chunk(
      Buffer.from(
        JSON.stringify({
          object: 'chat.completion',
          model: 'gpt-5',
          choices: [],
          usage: { prompt_tokens: usage.promptTokens, completion_tokens: usage.completionTokens },
        }),
      ),
    );
  recording.complete({ statusCode: 200, aborted: false, atMs: clock.monotonicMs() });
  return recording.entry;
}

const today = (): number => audit.totalsToday(undefined).tokensToday;

describe('the tokens of a request count once', () => {
  /** Tokens on the lanes, tokens in the response, sum. */
  const ROWS: [title: string, lanes: ModelCall[], reported: ModelCall | null, sum: number][] = [
    ['seen on lanes only', [tokens(10, 5), tokens(20, 5)], null, 40],
    ['reported only', [], tokens(30, 10), 40],
    ['reported like seen', [tokens(10, 5), tokens(20, 5)], tokens(30, 10), 40],
    ['reported lower than seen', [tokens(10, 5), tokens(20, 5)], tokens(10, 5), 40],
    ['reported higher than seen', [tokens(10, 5)], tokens(30, 10), 40],
  ];

  test.each(ROWS)('%s', (_, lanes, reported, sum) => {
    const recording = arrive();
    for (const usage of lanes) audit.recordLaneCall(recording.entry, finished(usage));
    complete(recording, reported);
    expect(today()).toBe(sum);
    expect(audit.tokens.prompt + audit.tokens.completion).toBe(sum);
    expect(audit.window.totalTokens).toBe(sum);
  });

  test('a lane call counts before the end of its request', () => {
    audit.recordLaneCall(arrive().entry, finished(tokens(10, 5)));
    expect(today()).toBe(15);
  });

  test('a lane call after the end of its request adds what was not reported', () => {
    const entry = complete(arrive(), tokens(10, 5));
    audit.recordLaneCall(entry, finished(tokens(10, 5)));
    expect(today()).toBe(15);
    audit.recordLaneCall(entry, finished(tokens(10, 5)));
    expect(today()).toBe(30);
  });

  test('events after the lane call add what the lane did not see', () => {
    const recording = arrive();
    audit.recordLaneCall(recording.entry, finished(tokens(10, 5)));
    const { requestId } = complete(recording, null);
    const event = { type: 'model' as const, modelId: 'gpt-5', promptTokens: 10, completionTokens: 10 };
    audit.recordEvents({ requestId, events: [event] });
    expect(today()).toBe(20);
  });

  test('a report about calls whose request is not known adds nothing', () => {
    const [first, second] = [arrive(), arrive()];
    expect(audit.onlyInFlight).toBeNull();
    audit.recordLaneCall(null, finished(tokens(10, 5)));
    audit.recordLaneCall(null, finished(tokens(20, 5)));
    complete(first, tokens(10, 5));
    complete(second, tokens(20, 6));
    expect(today()).toBe(41);
    expect(audit.withoutRequest).toEqual({ totalTokens: 40, totalCalls: 2 });
  });

  test('after ten minutes a report is about other calls', () => {
    audit.recordLaneCall(null, finished(tokens(10, 5)));
    clock.advance(10 * 60_000 + 1);
    complete(arrive(), tokens(10, 5));
    expect(today()).toBe(30);
  });
});

test('tokens are compared for the requests whose tokens the agent reported', () => {
  const reported = arrive();
  audit.recordLaneCall(reported.entry, finished(tokens(10, 5)));
  audit.recordLaneCall(reported.entry, finished(null));
  complete(reported, tokens(100, 5));
  const silent = arrive();
  audit.recordLaneCall(silent.entry, finished(tokens(7, 7)));
  complete(silent, null);
  expect(comparedTokensIn(audit.ring.newest())).toEqual({
    tokens: { prompt: 10, completion: 5, unknownCalls: 1 },
    reportedTokens: { prompt: 100, completion: 5 },
  });
  expect(comparedTokensIn([silent.entry]).reportedTokens).toBeNull();
});

test('an entry lists its lane calls without their tokens', () => {
  const recording = arrive();
  audit.recordLaneCall(recording.entry, { ...finished(tokens(1, 1)), tools: ['search'] });
  audit.recordLaneCall(recording.entry, { ...finished(null), model: 'gpt-4', tools: ['search', 'pay'] });
  expect(JSON.parse(JSON.stringify(recording.entry))).toMatchObject({
    egress: { calls: 2, models: ['gpt-5', 'gpt-4'], tools: ['search', 'pay'] },
  });
  expect(audit.responsesWithoutUsage).toBe(1);
});

test('a lane call without usage is a call without usage, once, with and without its request', () => {
  const recording = arrive();
  audit.recordLaneCall(recording.entry, finished(null));
  complete(recording, null);
  audit.recordLaneCall(null, finished(null));
  const report = (): RingUsageReport =>
    ringUsageReport(audit.ring.newest(), {
      withoutRequest: audit.withoutRequest,
      unknownWithoutRequest: audit.unknownWithoutRequest,
      costOf: () => null,
    });
  expect(report().callsWithoutUsage).toBe(2);
  expect(audit.responsesWithoutUsage).toBe(2);
  const counted = arrive();
  audit.recordLaneCall(counted.entry, finished(tokens(10, 5)));
  audit.recordLaneCall(counted.entry, finished(null));
  complete(counted, tokens(1, 1));
  expect(report()).toMatchObject({ totalTokens: 15, callsWithoutUsage: 3 });
  expect(audit.responsesWithoutUsage).toBe(3);
});
