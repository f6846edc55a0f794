import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { gateReply } from '../core/organisation/gate.ts';
import { judge } from '../core/organisation/judge.ts';
import { parsePolicy } from '../core/organisation/parse-policy.ts';
import { parseManifest } from '../core/manifest/parse-manifest.ts';
import { blocksIn } from '../testing/documents/documented-commands.ts';

const ROOT = dirname(import.meta.dirname);
/** The blocks of a language on a page. */
const blocksOf = (page: string, language: string): string[] =>
  blocksIn(readFileSync(join(ROOT, 'docs/guide', page), 'utf8'))
    .filter((block) => block.language === language)
    .map(({ body }) => body);

const [policyText = '', correctedText = '', exceptionText = ''] = blocksOf('organisation.md', 'yaml');
const document = parse(policyText) as { spec: object };
const EXAMPLE = readFileSync(join(ROOT, 'examples/kubernetes/agent.yaml'), 'utf8');

/** What the webhook replies to the writer of a manifest in the namespace of the guide. */
function replyTo(text: string): string | null {
  const policy = parsePolicy(document);
  const manifest = parseManifest(text);
  if (!policy.ok || !manifest.ok) throw new Error(JSON.stringify([policy, manifest]));
  const { name } = manifest.manifest.metadata;
  const subject = {
    ...{ namespace: 'shop', labels: { env: 'production' }, names: [name], observation: null },
    ...{ manifest: manifest.manifest, at: new Date('2026-11-28T12:00:00Z') },
  };
  return gateReply(name, [policy.value], judge([policy.value], subject)).denied;
}

test('the policy of the guide is valid, with its exception, and the example breaks it with the message of the guide', () => {
  const exceptions = parse(exceptionText) as object;
  expect(parsePolicy({ ...document, spec: { ...document.spec, ...exceptions } })).toMatchObject({ ok: true });
  const [message = ''] = blocksOf('organisation.md', 'text');
  expect(message.trim()).toBe(
    `error: failed to create configmap: admission webhook "manifest.platform.io" denied the request: ${replyTo(EXAMPLE)}`,
  );
});

test('the example with the correction of the guide breaks no rule', () => {
  const example = parse(EXAMPLE) as { spec: object };
  const { spec } = parse(correctedText) as { spec: object };
  expect(replyTo(stringify({ ...example, spec: { ...example.spec, ...spec } }))).toBeNull();
});

test('the workflow for teams has inputs of the Action, and the label of the policy', () => {
  const [workflow = ''] = blocksOf('organisation-rollout.md', 'yaml');
  const step = (parse(workflow) as { with: Record<string, string> }[]).at(-1)?.with ?? {};
  const { inputs } = parse(readFileSync(join(ROOT, 'action.yaml'), 'utf8')) as { inputs: object };
  expect(Object.keys(inputs)).toEqual(expect.arrayContaining(Object.keys(step)));
  expect(document.spec).toMatchObject({ namespaceSelector: { matchLabels: { env: 'production' } } });
  expect(step).toMatchObject({ policy: 'agent-rules/rules', 'namespace-labels': 'env=production' });
});
