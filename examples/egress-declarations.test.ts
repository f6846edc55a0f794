import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { compileConstraints } from '../core/egress/constraints.ts';
import { declaredEgressOf, isDeclaredHost } from '../core/egress/declared.ts';
import { fenceOf } from '../authoring/deploy/network-policy.ts';
import { parseManifest } from '../core/manifest/parse-manifest.ts';

describe.each(['agents-python/langgraph', 'agents-node/langgraph'])('the manifest of %s', (folder) => {
  const parsed = parseManifest(readFileSync(join(import.meta.dirname, folder, 'agent.yaml'), 'utf8'));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const { manifest } = parsed;

  test('declares the hosts of the agent', () => {
    const declared = declaredEgressOf(manifest);
    const isDeclared = (host: string): boolean | null => isDeclaredHost(declared, host);
    expect(['api.openai.com', 'api.smith.langchain.com', 'example.com'].map(isDeclared)).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('makes a network policy with the names of these hosts', () => {
    const { object } = fenceOf('CiliumNetworkPolicy', manifest, { controlPlaneNamespace: null });
    for (const host of ['api.openai.com', 'api.smith.langchain.com'])
      expect(JSON.stringify(object)).toContain(host);
  });

  test.each([
    ['{"a":6,"b":7}', true],
    ['{"a":6.5,"b":-7}', true],
    ['{"a":6}', false],
    ['{"a":"6","b":7}', false],
    ['{"a":6,"b":7,"path":"/etc/passwd"}', false],
    ['{"a":1e9,"b":7}', false],
  ])('accepts the arguments %s: %s', (text, isValid) => {
    expect(compileConstraints(manifest).get('calculator')?.(text)).toBe(isValid);
  });
});
