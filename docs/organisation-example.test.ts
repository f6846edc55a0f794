import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { gateReply } from '../core/organisation/gate.ts';
import { judge } from '../core/organisation/judge.ts';
import { parsePolicy } from '../core/organisation/parse-policy.ts';
import { parseManifest } from '../core/manifest/parse-manifest.ts';
import { manifestText } from '../testing/manifests/manifest-text.ts';

const GUIDE = readFileSync(join(import.meta.dirname, 'guide/organisation.md'), 'utf8');
const blocks = (language: string): string[] =>
  [...GUIDE.matchAll(new RegExp(`^( *)\`\`\`${language}\\n(.*?)^ *\`\`\``, 'gms'))].map(
    ([, indent = '', text = '']) => text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );

test('the policy of the guide is valid, with its exception, and has the findings of the guide', () => {
  const [policyText = '', exceptionText = ''] = blocks('yaml');
  const document = parse(policyText) as { spec: object };
  const exceptions = parse(exceptionText) as object;
  expect(parsePolicy({ ...document, spec: { ...document.spec, ...exceptions } })).toMatchObject({ ok: true });
  const policy = parsePolicy(document);
  const text = manifestText('  tools: []\n').replace(/name: minimal/, 'name: chat');
  const manifest = parseManifest(text.replace(/^ {4}id: .*$/m, '    id: o9'));
  if (!policy.ok || !manifest.ok) throw new Error(JSON.stringify([policy, manifest]));
  const subject = {
    ...{ namespace: 'shop', labels: { env: 'production' }, names: ['chat'], observation: null },
    ...{ manifest: manifest.manifest, at: new Date('2026-11-28T12:00:00Z') },
  };
  const { denied } = gateReply('chat', [policy.value], judge([policy.value], subject));
  const [message = ''] = blocks('text');
  const sorted = (lines: string): string[] =>
    lines
      .trim()
      .split('\n')
      .map((line) => line.trim())
      .sort();
  expect(
    sorted(`Error from server: admission webhook "manifest.platform.io" denied the request: ${denied}`),
  ).toEqual(sorted(message));
});
