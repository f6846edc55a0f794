import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { canonicalJson } from './canonical.ts';
import { ChainVerifier } from './chain.ts';
import { columnsOf, parseLine } from './columns.ts';
import { RecordLines } from './line.ts';
import { NO_LINE } from './record-event.ts';
import { sampleEvents, SAMPLE_SOURCE } from '../../testing/record/sample-events.ts';

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

test('every line is its own canonical form and parses', () => {
  for (const line of chainOfSamples()) {
    expect(canonicalJson(JSON.parse(line))).toBe(line);
    expect(parseLine(line)).toMatchObject({ ok: true });
  }
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
