// Splunk and Elastic cannot be run here: what can be checked of their configurations without them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { MEMBERS } from '../../core/record/members.ts';
import { MAX_LINE_BYTES } from '../../core/record/line.ts';
import { sampleLines } from './sample-lines.ts';

const GUIDE = join(import.meta.dirname, '../../docs/guide');
const read = (name: string): string => readFileSync(join(GUIDE, 'siem', name), 'utf8');
const LINES = sampleLines();

/** The settings of the only section of a configuration of Splunk. */
function settingsOf(name: string): Record<string, string> {
  const [header, ...lines] = read(name).trim().split('\n');
  expect(header).toMatch(/^\[.+\]$/);
  const settings = lines.filter((line) => !line.startsWith('#'));
  return Object.fromEntries(
    settings.map((line) => /^(\w+) = (.+)$/.exec(line)!.slice(1) as [string, string]),
  );
}

test('Splunk finds the events and their time', () => {
  const settings = settingsOf('splunk-props.conf');
  // Splunk removes the group.
  const events = `${LINES.join('\n')}\n`.split(new RegExp(settings['LINE_BREAKER']!.replace('(', '(?:')));
  expect(events.slice(0, -1)).toEqual(LINES);
  expect(Number(settings['TRUNCATE'])).toBeGreaterThan(MAX_LINE_BYTES);
  const digits = Number(settings['MAX_TIMESTAMP_LOOKAHEAD']);
  const times = LINES.map(
    (line) => new RegExp(`${settings['TIME_PREFIX']}(\\d{${digits}})\\D`).exec(line)?.[1],
  );
  expect(times.map(Number)).toEqual(LINES.map((line) => (JSON.parse(line) as { time: number }).time));
});

test('Splunk reads the rotated files, and not the positions of the senders', () => {
  const { whitelist, initCrcLength } = settingsOf('splunk-inputs.conf');
  const folder = '/var/log/agent-compliance';
  const files = ['audit.log', 'audit.log.1', 'audit.log.12', 'audit.log.otlp', 'audit.log.forward'];
  expect(files.filter((file) => new RegExp(whitelist!).test(`${folder}/${file}`))).toEqual(files.slice(0, 3));
  expect(Number(initCrcLength)).toBeGreaterThan(MAX_LINE_BYTES);
});

test('the pipeline of Elastic copies only members of events, and requires only those of each', () => {
  interface Copy {
    copy_from: string;
    ignore_empty_value?: true;
  }
  const { processors } = JSON.parse(read('elastic-pipeline.json')) as { processors: { set?: Copy }[] };
  const copies = processors.flatMap(({ set }) => (set === undefined ? [] : [set]));
  const memberOf = ({ copy_from: from }: Copy): string => /^ocsf\.(.+)$/.exec(from)![1]!;
  expect(copies.map(memberOf).filter((name) => !Object.hasOwn(MEMBERS, name))).toEqual([]);
  const required = copies.filter(({ ignore_empty_value: isOptional }) => isOptional !== true).map(memberOf);
  expect(required).toContain('metadata.uid');
  for (const line of LINES)
    for (const name of required) expect(JSON.parse(line)).toHaveProperty(name.split('.'));
});

test('the guide has every file as a block or as a link', () => {
  const page = readFileSync(join(GUIDE, 'siem.md'), 'utf8');
  const files = readdirSync(join(GUIDE, 'siem'));
  const isShown = (name: string): boolean =>
    page.includes(`\n${read(name)}\`\`\``) || page.includes(`](siem/${name})`);
  expect(files.filter((name) => !isShown(name))).toEqual([]);
});
