import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { MEMBERS } from '../../core/record/members.ts';
import { folderOf, pythonIn, whyNoPackages } from '../frameworks/programs.ts';
import { flatten } from '../record/flatten.ts';
import { EVENTS, sampleLines } from './sample-lines.ts';

const FOLDER = join(import.meta.dirname, '../../docs/guide/sigma');
const NAMES = Object.keys(EVENTS);
/** Each rule, and the only events that it selects. */
const SELECTED = {
  'denial-without-identity': ['deniedWithoutIdentity'],
  'destructive-call-blocked': ['destructiveBlocked'],
  'events-lost': ['lost'],
  'passed-without-evaluation': ['failOpen'],
  'undeclared-tool': ['undeclaredTool'],
};

interface Rule {
  id: string;
  level: string;
  fields: string[];
  detection: Record<string, Record<string, unknown>>;
}

const rules = readdirSync(FOLDER).map((file) => parse(readFileSync(join(FOLDER, file), 'utf8')) as Rule);

/** The line as the columns of a table; entries of lists are joined with commas. */
function rowOf(line: string): string {
  const members = Object.entries(flatten(JSON.parse(line)));
  return JSON.stringify(
    Object.fromEntries(members.map(([name, all]) => [name, all.length === 1 ? all[0] : all.join()])),
  );
}

describe('the Sigma rules', () => {
  test('have an id each, and only members of events', () => {
    expect(new Set(rules.map(({ id }) => id)).size).toBe(Object.keys(SELECTED).length);
    for (const { id, level, fields, detection } of rules) {
      expect(id).toMatch(/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/);
      expect(['medium', 'high']).toContain(level);
      const { condition: _, ...selections } = detection;
      const used = Object.values(selections).flatMap((each) => Object.keys(each));
      const names = [...fields, ...used.map((name) => name.split('|')[0]!)];
      expect(names.filter((name) => !Object.hasOwn(MEMBERS, name))).toEqual([]);
    }
  });

  // In pySigma, with its backend for SQLite.
  (whyNoPackages('evidence') === undefined ? test : test.skip)(
    'select exactly their event among one of each kind',
    () => {
      const program = [join(import.meta.dirname, 'run-sigma.py'), FOLDER, ...Object.keys(MEMBERS)];
      const { stdout, stderr } = spawnSync(pythonIn(folderOf('evidence')), program, {
        encoding: 'utf8',
        input: sampleLines().map(rowOf).join('\n'),
      });
      expect(stderr).toBe('');
      const found = Object.entries(JSON.parse(stdout) as Record<string, number[]>);
      expect(
        Object.fromEntries(found.map(([rule, lines]) => [rule, lines.map((line) => NAMES[line])])),
      ).toEqual(SELECTED);
    },
  );
});
