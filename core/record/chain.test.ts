import { expect, test } from '@jest/globals';
import { chainOfLines } from '../../testing/record/chain-of-lines.ts';
import { sha256 } from '../../testing/record/log-lines.ts';
import { SAMPLE_SOURCE } from '../../testing/record/sample-events.ts';
import { ChainVerifier, type ChainHead, type ChainReport } from './chain.ts';
import { chainOf, NO_LINE } from './record-event.ts';

const CHAIN = chainOf(SAMPLE_SOURCE);

const LINES = chainOfLines(40);
const headAt = (sequence: number, lines = LINES): ChainHead => ({
  chain: CHAIN,
  sequence,
  head: sha256(lines[sequence - 1] ?? ''),
});
const HEADS = [headAt(20), headAt(40)];

function verified(lines: readonly string[], heads: readonly ChainHead[] = [], torn = ''): ChainReport {
  const verifier = new ChainVerifier(sha256, heads);
  for (const line of lines) verifier.add(line);
  if (torn !== '') verifier.add(torn, false);
  return verifier.report();
}

const found = (report: ChainReport): string[] =>
  report.findings.map(({ line, problem, message }) => `${line} ${problem}: ${message}`);

const edited = (line: string): string => line.replace('"duration":612', '"duration":613');

/** The chain with line `from` edited, and with new hashes after it. */
function rewritten(lines: readonly string[], from: number): string[] {
  let prev = '';
  return lines.map((line, index) => {
    if (index + 1 < from) return line;
    const changed =
      index + 1 === from ? edited(line) : line.replace(/"prev":"[0-9a-f]{64}"/, `"prev":"${prev}"`);
    prev = sha256(changed);
    return changed;
  });
}

interface Tampering {
  lines: readonly string[];
  torn?: string;
  without: readonly string[];
  /** With heads of the lines 20 and 40. */
  withHeads: readonly string[];
}

const DIFFERS = '40 differs-from-head: differs from the head that was sent for 40';
const EDITED = '15 changed: the line with sequence 15 is not the one that was written';
const TORN = '40 torn: not complete: no newline follows';
const REMOVED = '15 missing: lines 15 to 17 are missing before it';
const SWAPPED = ['15 missing: lines 15 to 15 are missing before it', '16 order: sequence 15 follows 16'];

test.each<[string, Tampering]>([
  ['nothing', { lines: LINES, without: [], withHeads: [] }],
  ['an edited line', { lines: LINES.with(14, edited(LINES[14]!)), without: [EDITED], withHeads: [EDITED] }],
  [
    'a line with another person',
    {
      lines: LINES.with(14, LINES[14]!.replace('auth0|5f7c', 'auth0|0000')),
      ...{ without: [EDITED], withHeads: [EDITED] },
    },
  ],
  [
    'removed lines',
    {
      lines: LINES.toSpliced(14, 3),
      without: [REMOVED],
      withHeads: [REMOVED],
    },
  ],
  [
    'swapped lines',
    { lines: LINES.with(14, LINES[15]!).with(15, LINES[14]!), without: SWAPPED, withHeads: SWAPPED },
  ],
  [
    'a repeated line',
    {
      lines: LINES.toSpliced(15, 0, LINES[14]!),
      without: ['16 order: sequence 15 follows 15'],
      withHeads: ['16 order: sequence 15 follows 15'],
    },
  ],
  [
    'a line that is replaced by other text',
    {
      lines: LINES.with(14, 'nothing to see'),
      without: ['16 missing: lines 15 to 15 are missing before it'],
      withHeads: ['16 missing: lines 15 to 15 are missing before it'],
    },
  ],
  [
    'a line that is cut off in the middle',
    {
      lines: LINES.with(14, LINES[14]!.slice(0, 200)),
      without: ['15 unreadable: not valid JSON', '16 missing: lines 15 to 15 are missing before it'],
      withHeads: ['15 unreadable: not valid JSON', '16 missing: lines 15 to 15 are missing before it'],
    },
  ],
  [
    'a torn last line',
    {
      lines: LINES.slice(0, -1),
      torn: LINES.at(-1)!.slice(0, 300),
      without: [TORN],
      withHeads: ['39 truncated: head 40 is known, the chain ends at 39', TORN],
    },
  ],
  // These two are not visible without heads: a chain shows only that kept lines were not changed.
  [
    'an end that is cut off',
    {
      lines: LINES.slice(0, 30),
      without: [],
      withHeads: ['30 truncated: head 40 is known, the chain ends at 30'],
    },
  ],
  ['an edited last line', { lines: LINES.with(39, edited(LINES[39]!)), without: [], withHeads: [DIFFERS] }],
  [
    'everything written again from line 15 on',
    {
      lines: rewritten(LINES, 15),
      without: [],
      withHeads: ['20 differs-from-head: differs from the head that was sent for 20', DIFFERS],
    },
  ],
  [
    'everything written again after the last head',
    { lines: rewritten(LINES, 41), without: [], withHeads: [] },
  ],
])('finds %s', (_what, { lines, torn, without, withHeads }) => {
  expect(found(verified(lines, [], torn))).toEqual(without);
  expect(found(verified(lines, HEADS, torn))).toEqual(withHeads);
});

test('lines that a shipper parsed and wrote again in another order of members are the same lines', () => {
  const reordered = LINES.map((line) => {
    const members = Object.entries(JSON.parse(line) as object).toReversed();
    return JSON.stringify(Object.fromEntries(members), null, 1).replaceAll('\n', ' ');
  });
  expect(reordered).not.toEqual(LINES);
  expect(found(verified(reordered, HEADS))).toEqual([]);
});

test('the part of a chain whose first lines were rotated away', () => {
  const report = verified(LINES.slice(5), HEADS);
  expect(report).toMatchObject({
    lines: 35,
    findings: [],
    chains: [{ chain: CHAIN, first: 6, last: 40, isFromStart: false, lost: 3, heads: 2 }],
    absent: [],
  });
});

test('the chains of several processes in one output, with lines of other programs', () => {
  const other = { ...SAMPLE_SOURCE, instance: 'shop-2', startedAt: SAMPLE_SOURCE.startedAt + 1 };
  const second = chainOfLines(40, other);
  const mixed = LINES.flatMap((line, index) => [
    line,
    '{"level":"info","message":"started"}',
    second[index]!,
    ...(index === 3 ? ['', 'npm notice', '[1]', 'null'] : []),
  ]);
  const report = verified(mixed, HEADS);
  expect(report).toEqual({
    lines: 124,
    otherLines: 44,
    findings: [],
    chains: [
      { chain: CHAIN, first: 1, last: 40, isFromStart: true, lost: 3, heads: 2 },
      { chain: chainOf(other), first: 1, last: 40, isFromStart: true, lost: 3, heads: 0 },
    ],
    absent: [],
  });
  const [first = ''] = second;
  expect(found(verified(mixed.filter((line) => line !== first)))).toEqual([]);
  expect(found(verified(mixed.filter((line) => line !== second[20])))).toEqual([
    '69 missing: lines 21 to 21 are missing before it',
  ]);
});

test('a head of a chain without lines is reported as absent', () => {
  const unknown = { chain: 'shop-9/abc', sequence: 3, head: 'a'.repeat(64) };
  const report = verified(LINES, [unknown]);
  expect(report).toMatchObject({ absent: ['shop-9/abc'], findings: [], chains: [{ heads: 0 }] });
});

const deep = '['.repeat(20_000) + ']'.repeat(20_000);
const withMember = (member: string): string => LINES[0]!.replace(/^\{/, `{${member},`);

test.each<[string, string, string]>([
  ['JSON that is cut', '{"action_id":1', 'not valid JSON'],
  ['a wrong type', LINES[0]!.replace('"time":', '"time":"x","tame":'), 'not an audit event: time must be'],
  [
    'no person but a list',
    LINES[0]!.replace('"user":{"uid":"auth0|5f7c"}', '"user":[]'),
    'actor.user must be',
  ],
  ['no hash', LINES[0]!.replace(NO_LINE, '0'), 'unmapped.platform.prev must be 64 hexadecimal digits'],
  ['no agent', LINES[0]!.replace('retail/shop', 'shop'), 'actor.app_uid must be NAMESPACE/AGENT'],
  ['brackets', withMember(`"a":${deep}`), 'nested more than 100 levels deep'],
  ['a very long line', withMember(`"a":"${'a'.repeat(70_000)}"`), 'more than 65536 characters'],
])('a line with %s is unreadable', (_what, line, message) => {
  const [finding, ...more] = verified([line]).findings;
  expect(more).toEqual([]);
  expect(finding).toMatchObject({ problem: 'unreadable', line: 1 });
  expect(finding?.message).toContain(message);
});

test('the first line of a chain has no hash of a line before, and no other line has none', () => {
  const zeros = LINES[4]!.replace(/"prev":"[0-9a-f]{64}"/, `"prev":"${NO_LINE}"`);
  expect(found(verified([zeros]))).toEqual([
    '1 changed: sequence 5 and the hash of the line before do not fit',
  ]);
});
