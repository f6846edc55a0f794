import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Manifest } from '../core/manifest/manifest.ts';
import { manifestFrom } from './manifest-input.ts';

const MANIFEST: Manifest = {
  apiVersion: 'platform.io/v1',
  kind: 'PlatformAgent',
  metadata: { name: 'shop', version: '1.0.0', description: 'sells' },
  spec: { model: { provider: 'openai', id: 'gpt', apiKey: '$env:KEY' } },
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'manifest-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('the manifest of a reporter', () => {
  test('is the object itself', () => {
    expect(manifestFrom(MANIFEST)).toBe(MANIFEST);
  });

  test('is read from a .json file', () => {
    const path = join(folder, 'agent.json');
    writeFileSync(path, JSON.stringify(MANIFEST));
    expect(manifestFrom(path)).toEqual(MANIFEST);
  });

  test.each<[string, unknown, string[]]>([
    [
      'a YAML path',
      'agent.yaml',
      ['"agent.yaml" is no .json file: parse agent.yaml with a YAML library and pass the object'],
    ],
    [
      'a file that is not there',
      '/nonexistent/agent.json',
      ['/nonexistent/agent.json cannot be read as JSON'],
    ],
    [
      'nothing',
      undefined,
      [
        'metadata.name must be a non-empty string',
        'spec.model.provider must be a non-empty string',
        'spec.model.id must be a non-empty string',
        'spec.model.apiKey must be a non-empty string',
      ],
    ],
    [
      'members of the wrong kind, all at once',
      {
        ...MANIFEST,
        spec: { ...MANIFEST.spec, tools: ['a'], requires: { envVars: [1], services: {} }, mcp: [] },
      },
      [
        'spec.tools must be a list of objects with a name',
        'spec.mcp must be an object',
        'spec.requires.envVars must be a list of strings',
        'spec.requires.services must be a list of objects',
      ],
    ],
  ])('refuses %s', (_name, input, problems) => {
    expect(() => manifestFrom(input as Manifest)).toThrow(expect.objectContaining({ problems }));
  });
});
