import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { describe, expect, test } from '@jest/globals';
import { canonicalJson } from './canonical.ts';
import { ChainVerifier } from './chain.ts';
import { columnsOf, parseLine } from './columns.ts';
import { MAX_LINE_BYTES, RecordLines } from './line.ts';
import { NO_LINE, type RecordEvent } from './record-event.ts';
import fc, { runs } from '../../testing/random/properties.ts';
import { anyEvent, anyHost } from '../../testing/record/generated-events.ts';
import { sampleEvents, SAMPLE_SOURCE } from '../../testing/record/sample-events.ts';

interface Event {
  type_uid: number;
  class_uid: number;
  activity_id: number;
  activity_name?: string;
  metadata: { is_truncated?: boolean; untruncated_size?: number };
}

const lines = new RecordLines({
  source: SAMPLE_SOURCE,
  hostOf: () => 'api.openai.com',
  hintsOf: (tool) =>
    tool.startsWith('delete')
      ? { isReadOnly: false, isDestructive: true }
      : { isReadOnly: true, isDestructive: false },
});
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function chainOfSamples(): string[] {
  let prev = NO_LINE;
  return Object.values(sampleEvents()).map((event, index) => {
    const line = lines.line(event, { sequence: index + 1, prev, manifestDigest: `sha256:${'a'.repeat(64)}` });
    prev = sha256(line);
    return line;
  });
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
  for (const line of chainOfSamples()) expectLine(line);
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
    const line = lines.line(withTexts(event, unit.repeat(3_000)) as RecordEvent, {
      ...{ sequence: 1, prev: NO_LINE, manifestDigest: `sha256:${'a'.repeat(64)}` },
    });
    expectLine(line);
    expect(line.includes('"is_truncated":true')).toBe(event.kind !== 'lifecycle');
  });
});

test('lists are cut before texts', () => {
  const { request } = sampleEvents();
  const name = 'n'.repeat(40);
  const entry = { ...request.entry, path: `/${'p'.repeat(900)}`, toolsCalled: Array(300).fill(name) };
  const line = lines.line({ kind: 'request', entry }, { sequence: 1, prev: NO_LINE });
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
  const line = lines.line(sampleEvents().toolCall, { sequence: 7, prev: NO_LINE });
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
  const all = chainOfSamples();
  for (const line of all) verifier.add(line);
  expect(verifier.report()).toMatchObject({
    lines: all.length,
    findings: [],
    chains: [{ first: 1, last: all.length, isFromStart: true, lost: 3 }],
  });
});
