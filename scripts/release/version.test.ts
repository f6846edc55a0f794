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

test('is the one that all places have, and the tag', () => {
  expect(releaseVersion(root)).toBe('1.2.3');
  expect(releaseVersion(root, 'v1.2.3')).toBe('1.2.3');
});

test.each([
  [
    'package.json',
    '"1.2.3"',
    '"1.2.4"',
    'package.json has version 1.2.4, and others have another: package-lock.json: 1.2.3; ',
  ],
  ['package-lock.json', '"1.2.3", ', '"1.2.4", ', 'others have another: package-lock.json: 1.2.4'],
  [
    'package-lock.json',
    '{"": {"version": "1.2.3"',
    '{"": {"version": "1"',
    'others have another: package-lock.json, its first package: 1',
  ],
  [
    'helm/agent-compliance/Chart.yaml',
    'version: 1.2.3',
    'version: 1.2.2',
    'others have another: Chart.yaml, version: 1.2.2',
  ],
  [
    'helm/agent-compliance/Chart.yaml',
    'appVersion: 1.2.3',
    '',
    'others have another: Chart.yaml, appVersion: undefined',
  ],
  ['CHANGELOG.md', '[1.2.3]', '[1.2.30]', 'CHANGELOG.md has no section [1.2.3]'],
])('is refused where %s has another: %s', (path, from, to, message) => {
  const text = readFileSync(join(root, path), 'utf8');
  writeFileSync(join(root, path), text.replace(from, to));
  expect(() => releaseVersion(root, 'v1.2.3')).toThrow(message);
});

test.each(['v1.2.4', '1.2.3', 'main'])('is refused for the tag %s', (tag) => {
  expect(() => releaseVersion(root, tag)).toThrow(`others have another: the tag: ${tag}`);
});
