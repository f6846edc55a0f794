import type { Manifest } from '../manifest/manifest.ts';
import { packageOf } from './package-name.ts';
import { egressRulesOf, policyDataOf, rulesOf } from './policy.ts';
import { egressTestsOf, regoTestsOf } from './rego-tests.ts';

/** First line of both Rego files. Later runs use this line to recognize generated files. */
export const GENERATED_MARK =
  '# Made by `platform generate-policy` from the manifest of an agent. Do not edit.';

/** The files of a generated policy directory, which is one root of the policy engine. */
export const POLICY_FILE_NAMES = ['policy.rego', 'data.json', 'policy_test.rego'] as const;

export type PolicyFiles = Record<(typeof POLICY_FILE_NAMES)[number], string>;

/**
 * The manifest's rules for a policy engine, formatted like `opa fmt`: `deny` for requests to the agent, `deny_egress` for its
 * calls on the egress lanes. The rule text depends only on the agent's name (a DNS label) and on the sets of declared rules. All
 * other manifest values are data.
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
    // The strict compiler rejects unused imports.
    [
      ...(texts.some((text) => text.includes('config.')) ? [`import data.${name}.config`] : []),
      `import data.${name}.egress`,
    ].join('\n'),
    ...texts,
    ...egressRulesOf(manifest).map(({ rule }) => rule.rego),
  ]);
}

/** Tests have a separate root package: next to the agents' packages, a test package could collide with another agent. */
function testText(manifest: Manifest): string {
  const name = packageOf(manifest.metadata.name);
  const texts = rulesOf(manifest).map(({ rule }) => regoTestsOf(rule.reason));
  return document([
    `${GENERATED_MARK}\npackage ${name.replace('platform.agent', 'platform.agent_test')}`,
    `import data.${name} as policy`,
    ...(texts.length === 0 ? [NO_RULES_TEST] : texts),
    ...egressRulesOf(manifest).map(({ rule }) => egressTestsOf(rule.reason)),
  ]);
}

/**
 * This rule distinguishes an agent without rules from an agent whose rules are not loaded. It is a partial rule instead
 * of an empty set, so that custom rules can add denials. Generated data never has the key `always`.
 */
const NO_RULES = 'deny contains reason if some reason in config.always';
const NO_RULES_TEST = `test_nothing_is_denied if count(policy.deny) == 0 with input as {"request_type": "llm_call"}

test_only_reasons_in_always_are_denied if policy.deny == {"x"} with policy.config as {"always": ["x"]}`;

function document(blocks: readonly string[]): string {
  return `${blocks.join('\n\n')}\n`;
}
