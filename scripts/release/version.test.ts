import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { releaseVersion } from './version.ts';

const FILES = {
  'package.json': '{"version": "1.2.3"}',
  'package-lock.json': '{"version": "1.2.3", "packages": {"": {"version": "1.2.3"}}}',
  'helm/agent-compliance/Chart.yaml': 'version: 1.2.3\nappVersion: 1.2.3\n',
  'CHANGELOG.md': '# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-01\n',
};

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'release-'));
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
});
afterEach(() => rmSync(root, { recursive: true }));

test('returns the version that all places and the tag have', () => {
  expect(releaseVersion(root)).toBe('1.2.3');
  expect(releaseVersion(root, 'v1.2.3')).toBe('1.2.3');
});

test.each([
  [
    'package.json',
    '"1.2.3"',
    '"1.2.4"',
    'package.json has version 1.2.4, but other places differ: package-lock.json: 1.2.3; ',
  ],
  ['package-lock.json', '"1.2.3", ', '"1.2.4", ', 'other places differ: package-lock.json: 1.2.4'],
  [
    'package-lock.json',
    '{"": {"version": "1.2.3"',
    '{"": {"version": "1"',
    'other places differ: package-lock.json, root package: 1',
  ],
  [
    'helm/agent-compliance/Chart.yaml',
    'version: 1.2.3',
    'version: 1.2.2',
    'other places differ: Chart.yaml, version: 1.2.2',
  ],
  [
    'helm/agent-compliance/Chart.yaml',
    'appVersion: 1.2.3',
    '',
    'other places differ: Chart.yaml, appVersion: undefined',
  ],
  ['CHANGELOG.md', '[1.2.3]', '[1.2.30]', 'CHANGELOG.md has no section [1.2.3]'],
])('throws if %s has another version: %s', (path, from, to, message) => {
  const text = readFileSync(join(root, path), 'utf8');
  writeFileSync(join(root, path), text.replace(from, to));
  expect(() => releaseVersion(root, 'v1.2.3')).toThrow(message);
});

test.each(['v1.2.4', '1.2.3', 'main'])('throws for the tag %s', (tag) => {
  expect(() => releaseVersion(root, tag)).toThrow(`other places differ: the tag: ${tag}`);
});
