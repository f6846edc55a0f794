import type { Manifest } from '../manifest/manifest.ts';
import { packageOf } from './package-name.ts';
import { policyDataOf, rulesOf } from './policy.ts';
import { REGO_TESTS } from './rego-tests.ts';

/** First line of both Rego files: by it a later run knows its own. */
export const GENERATED_MARK =
  '# Made by `platform generate-policy` from the manifest of an agent. Do not edit.';

/** The files of a folder that is one root of the policy engine. */
export const POLICY_FILE_NAMES = ['policy.rego', 'data.json', 'policy_test.rego'] as const;

export type PolicyFiles = Record<(typeof POLICY_FILE_NAMES)[number], string>;

/**
 * The manifest's rules for a policy engine, formatted as `opa fmt` does. The text depends on the agent's name (a DNS
 * label) and on which rules it brings, on nothing else: everything that a manifest says is data.
 */
export function policyFilesOf(manifest: Manifest): PolicyFiles {
  return {
    'policy.rego': policyText(manifest),
    'data.json': `${JSON.stringify(policyDataOf(manifest), null, 2)}\n`,
    'policy_test.rego': testText(manifest),
  };
}

function policyText(manifest: Manifest): string {
  const name = packageOf(manifest.metadata.name);
  const rules = rulesOf(manifest).map(({ rule }) => rule.rego);
  const texts = rules.length === 0 ? [NO_RULES] : rules;
  return document([
    `${GENERATED_MARK}\npackage ${name}`,
    // The strict compiler refuses an import that nothing uses.
    ...(texts.some((text) => text.includes('config.')) ? [`import data.${name}.config`] : []),
    ...texts,
  ]);
}

/** Tests have a root of their own: beside the agents' packages they could be another agent's. */
function testText(manifest: Manifest): string {
  const name = packageOf(manifest.metadata.name);
  const texts = rulesOf(manifest).map(({ rule }) => REGO_TESTS[rule.reason]);
  return document([
    `${GENERATED_MARK}\npackage ${name.replace('platform.agent', 'platform.agent_test')}`,
    `import data.${name} as policy`,
    ...(texts.length === 0 ? [NO_RULES_TEST] : texts),
  ]);
}

/**
 * Without any, an agent without rules could not be told from one whose rules are not loaded. A rule that adds to the set,
 * and not the empty set itself, so that rules of the reader's own may add to it too. No generated data has the key.
 */
const NO_RULES = 'deny contains reason if some reason in config.always';
const NO_RULES_TEST = `test_nothing_is_denied if count(policy.deny) == 0 with input as {"request_type": "llm_call"}

test_nothing_is_denied_but_what_always_is if policy.deny == {"x"} with policy.config as {"always": ["x"]}`;

function document(blocks: readonly string[]): string {
  return `${blocks.join('\n\n')}\n`;
}
