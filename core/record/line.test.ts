import canonicalize from 'canonicalize';
import { describe, expect, test } from '@jest/globals';
import { canonicalJson } from './canonical.ts';
import { ChainVerifier } from './chain.ts';
import { columnsOf, parseLine } from './columns.ts';
import { MAX_LINE_BYTES, RecordLines } from './line.ts';
import { MEMBERS } from './members.ts';
import { NO_LINE, type RecordEvent } from './record-event.ts';
import fc, { runs } from '../../testing/random/properties.ts';
import { linesOfSamples, SAMPLE_WRITER } from '../../testing/record/chain-of-lines.ts';
import { flatten } from '../../testing/record/flatten.ts';
import { anyEvent, anyHost } from '../../testing/record/generated-events.ts';
import { sha256 } from '../../testing/record/log-lines.ts';
import { sampleEvents, SAMPLE_SOURCE } from '../../testing/record/sample-events.ts';

interface Event {
  type_uid: number;
  class_uid: number;
  activity_id: number;
  activity_name?: string;
  severity_id: number;
  action_id?: number;
  disposition_id?: number;
  is_alert?: boolean;
  status_id?: number;
  status_detail?: string;
  metadata: { is_truncated?: boolean; untruncated_size?: number };
}

const bytesOf = (line: string): number => Buffer.byteLength(line);

/** What holds for every line. */
function expectLine(line: string): void {
  const value = JSON.parse(line) as Event;
  // Another implementation of RFC 8785 than that of the product.
  expect(canonicalize(value)).toBe(line);
  expect(canonicalJson(value)).toBe(line);
  expect(line.isWellFormed()).toBe(true);
  expect(line).not.toContain('\n');
  expect(bytesOf(line)).toBeLessThanOrEqual(MAX_LINE_BYTES);
  // The official schema does not check this.
  expect(value.type_uid).toBe(value.class_uid * 100 + value.activity_id);
  expect(value.activity_id === 99).toBe(value.activity_name !== undefined);
  expect(value.metadata.is_truncated === true).toBe((value.metadata.untruncated_size ?? 0) > MAX_LINE_BYTES);
  expect(parseLine(line)).toMatchObject({ ok: true });
}

test('every line of a sample is its own canonical form and parses', () => {
  for (const line of Object.values(linesOfSamples())) expectLine(line);
});

test('so is every line of a generated event', () => {
  fc.assert(
    fc.property(anyEvent, anyHost, (event, host) => {
      const writer = new RecordLines({
        ...{ source: { ...SAMPLE_SOURCE, agent: 'a'.repeat(253), instance: 'i'.repeat(253) } },
        ...{ hostOf: () => host, hintsOf: () => undefined },
      });
      const place = { sequence: 2 ** 40, prev: NO_LINE, manifestDigest: `sha256:${'a'.repeat(64)}` };
      expectLine(writer.line(event, place));
    }),
    { numRuns: runs(900) },
  );
});

/** Members that decide the form of an event, and members of a fixed form. */
const KEPT = ['kind', 'state', 'source', 'outcome', 'severity', 'lane', 'timestamp', 'action'];

/** Every other text is `text`, and every list has it 100 times. */
function withTexts(value: unknown, text: string, key = ''): unknown {
  if (KEPT.includes(key) && typeof value === 'string') return value;
  if (typeof value === 'string') return text;
  if (Array.isArray(value)) return Array.from({ length: 100 }, () => text);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value);
  return Object.fromEntries(members.map(([name, each]) => [name, withTexts(each, text, name)]));
}

describe.each(Object.entries(sampleEvents()))('the event %s', (_name, event) => {
  test.each(['\u0000', '\ud83d', '\ud83d\ude00'])('of texts of 9,000 times %j fits', (unit) => {
    const line = SAMPLE_WRITER.line(withTexts(event, unit.repeat(3_000)) as RecordEvent, {
      ...{ sequence: 1, prev: NO_LINE, manifestDigest: `sha256:${'a'.repeat(64)}` },
    });
    expectLine(line);
    expect(line.includes('"is_truncated":true')).toBe(event.kind !== 'lifecycle');
  });
});

type Name = keyof ReturnType<typeof sampleEvents>;

// class, activity, severity, action, disposition, is_alert, status, status_detail
test.each<[Name, (number | boolean | string | undefined)[]]>([
  ['started', [6002, 3, 1]],
  ['stopped', [6002, 4, 1]],
  ['manifestChanged', [6002, 8, 1]],
  ['request', [6003, 99, 1, 1, 1, undefined, 1]],
  ['requestOfNobody', [6003, 2, 1, 1, 1, undefined, 1]],
  ['deniedWithoutIdentity', [6003, 99, 4, 2, 2, true, 2, 'pii_detector_not_invoked']],
  ['failOpen', [6003, 99, 3, 1, 27, undefined, 1, 'policy_unavailable']],
  ['notEvaluated', [6003, 99, 1, 3, 16, undefined, 1]],
  ['modelCall', [6003, 99, 1, 1, 1, undefined, 1]],
  ['undeclaredTool', [6003, 99, 4, 3, 19, true, 1, 'tool_not_declared']],
  ['toolCall', [6003, 2, 1, 1, 1, undefined, 1]],
  ['destructiveBlocked', [6003, 4, 5, 2, 2, true, 2, 'destructive_tool_without_confirmation']],
  ['tunnel', [6003, 99, 1, 1, 1, undefined, 1]],
  ['tunnelToAddress', [6003, 99, 4, 2, 2, true, 2, 'host_not_declared']],
  ['listedTools', [6003, 99, 1, 1, 1, undefined, 1]],
  ['query', [3004, 2, 1, undefined, undefined, undefined, 1]],
  ['registration', [3004, 1, 1, undefined, undefined, undefined, 1]],
  ['renewal', [3004, 3, 1, undefined, undefined, undefined, 1]],
  ['findingOpened', [2003, 1, 4, undefined, undefined, undefined, 1]],
  ['findingClosed', [2003, 3, 2, undefined, undefined, undefined, 4]],
  ['adminAction', [3004, 4, 1, undefined, undefined, undefined, 1]],
  ['suspended', [3004, 12, 1]],
  ['resumed', [3004, 13, 1]],
  ['lost', [1008, 99, 4, undefined, undefined, undefined, undefined, 'buffers full']],
])('the codes of the event %s', (name, codes) => {
  const { class_uid, activity_id, severity_id, ...event } = JSON.parse(linesOfSamples()[name]) as Event;
  const { action_id, disposition_id, is_alert, status_id, status_detail } = event;
  const found = [class_uid, activity_id, severity_id, action_id, disposition_id, is_alert, status_id];
  expect([...found, status_detail]).toEqual(Object.assign(Array(8).fill(undefined), codes));
});

test('the flattened names of all events are those of the table', () => {
  const found = Object.values(linesOfSamples()).flatMap((line) => Object.keys(flatten(JSON.parse(line))));
  expect([...new Set(found)].toSorted()).toEqual(Object.keys(MEMBERS));
});

test('the provider of a model is that of the lane, else that of the manifest', () => {
  const { modelCall } = sampleEvents();
  const providerOf = (lane: string, provider?: string): unknown => {
    const place = { sequence: 1, prev: NO_LINE, ...(provider !== undefined && { provider }) };
    const call = { ...modelCall, call: { ...modelCall.call, lane } };
    return flatten(JSON.parse(SAMPLE_WRITER.line(call, place)))['ai_model.ai_provider'];
  };
  expect(providerOf('gemini', 'anthropic')).toEqual(['google']);
  expect(providerOf('compatible:corp', 'anthropic')).toEqual(['anthropic']);
  expect(providerOf('compatible:corp')).toEqual(['unknown']);
});

test('no member other than those of the table is in a line', () => {
  const planted = {
    ...{ body: 'PLANTED', headers: { authorization: 'PLANTED' }, arguments: { path: 'PLANTED' } },
    ...{ prompt: 'PLANTED', agentName: 'PLANTED', events: [{ type: 'tool', name: 'PLANTED' }] },
  };
  const { request, modelCall, toolCall, tunnel } = sampleEvents();
  const events = [
    { ...request, ...planted, entry: { ...request.entry, ...planted } },
    ...[modelCall, toolCall, tunnel].map((each) => ({
      ...{ ...each, ...planted },
      call: { ...each.call, ...planted },
    })),
  ];
  for (const event of events) {
    const line = SAMPLE_WRITER.line(event as RecordEvent, { sequence: 1, prev: NO_LINE });
    expect(line).not.toContain('PLANTED');
  }
});

test('lists are cut before texts', () => {
  const { request } = sampleEvents();
  const name = 'n'.repeat(40);
  const entry = { ...request.entry, path: `/${'p'.repeat(900)}`, toolsCalled: Array(300).fill(name) };
  const line = SAMPLE_WRITER.line({ kind: 'request', entry }, { sequence: 1, prev: NO_LINE });
  const { api, metadata, unmapped } = JSON.parse(line) as {
    api: { operation: string };
    metadata: object;
    unmapped: { platform: { facts: { toolsCalled: string[] } } };
  };
  expect(api.operation).toBe(`POST ${entry.path}`);
  expect(unmapped.platform.facts.toolsCalled).toHaveLength(20);
  expect(metadata).toMatchObject({ is_truncated: true, untruncated_size: expect.any(Number) });
});

test('the columns of a call', () => {
  const line = SAMPLE_WRITER.line(sampleEvents().toolCall, { sequence: 7, prev: NO_LINE });
  const parsed = parseLine(line);
  if (!parsed.ok) throw new Error(parsed.error);
  expect(columnsOf(parsed.event)).toEqual({
    uid: `shop-1/${SAMPLE_SOURCE.startedAt.toString(36)}:7`,
    at: Date.parse('2026-03-01T12:00:01.000Z'),
    namespace: 'retail',
    agent: 'shop',
    kind: 'tool',
    outcome: 'allow',
    user: 'auth0|5f7c',
    session: 's-3f9a1c2b7d5e6f80',
    tools: ['read_file'],
  });
});

test('a chain without changes has no findings', () => {
  const verifier = new ChainVerifier(sha256, []);
  const all = Object.values(linesOfSamples());
  for (const line of all) verifier.add(line);
  expect(verifier.report()).toMatchObject({
    lines: all.length,
    findings: [],
    chains: [{ first: 1, last: all.length, isFromStart: true, lost: 3 }],
  });
});
