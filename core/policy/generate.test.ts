import { describe, expect, test } from '@jest/globals';
import { plainManifest } from '../../testing/manifests/plain-manifest.ts';
import { manifests, RULE_SETS } from '../../testing/policy-cases.ts';
import fc, { runs } from '../../testing/properties.ts';
import { policyFilesOf } from './generate.ts';
import { policyDataOf, rulesOf } from './policy.ts';
import { POLICY_RULES } from './rules.ts';

const NAME = 'travel-planner';

describe('generated files', () => {
  test('have the same Rego for all manifests that declare the same rules', () => {
    fc.assert(
      fc.property(manifests(fc.constant(NAME)), (manifest) => {
        const reasons = rulesOf(manifest).map(({ rule }) => rule.reason);
        const { 'data.json': data, ...rego } = policyFilesOf(manifest);
        const { 'data.json': _, ...plain } = policyFilesOf(plainManifest(NAME, reasons));
        expect(rego).toEqual(plain);
        expect(JSON.parse(data)).toEqual(policyDataOf(manifest));
      }),
      { numRuns: runs(500) },
    );
  });

  test.each(RULE_SETS.map((set) => [set.join(', ') || 'none', set] as const))(
    'have exactly the rules: %s',
    (_names, reasons) => {
      const { 'policy.rego': policy, 'policy_test.rego': tests } = policyFilesOf(
        plainManifest(NAME, reasons),
      );
      expect([...policy.matchAll(/^deny contains "(\w+)" if /gm)].map(([, reason]) => reason)).toEqual(
        reasons,
      );
      const tested = POLICY_RULES.filter(({ reason }) => tests.includes(`\ntest_${reason}_`));
      expect(tested.map(({ reason }) => reason)).toEqual(reasons);
    },
  );

  test('of a manifest without rules return an empty result, unlike an unknown agent', () => {
    expect(policyFilesOf(plainManifest('3d-agent', []))).toEqual({
      'policy.rego': `# Made by \`platform generate-policy\` from the manifest of an agent. Do not edit.
package platform.agent["3d_agent"]

import data.platform.agent["3d_agent"].config

deny contains reason if some reason in config.always
`,
      'data.json': `{
  "platform": {
    "agent": {
      "3d_agent": {
        "config": {}
      }
    }
  }
}
`,
      'policy_test.rego': `# Made by \`platform generate-policy\` from the manifest of an agent. Do not edit.
package platform.agent_test["3d_agent"]

import data.platform.agent["3d_agent"] as policy

test_nothing_is_denied if count(policy.deny) == 0 with input as {"request_type": "llm_call"}

test_only_reasons_in_always_are_denied if policy.deny == {"x"} with policy.config as {"always": ["x"]}
`,
    });
  });

  test('are formatted as idiomatic Rego', () => {
    const reasons = ['pii_detector_not_invoked', 'toxicity_threshold_exceeded'] as const;
    expect(policyFilesOf(plainManifest(NAME, reasons))['policy.rego'])
      .toBe(`# Made by \`platform generate-policy\` from the manifest of an agent. Do not edit.
package platform.agent.travel_planner

import data.platform.agent.travel_planner.config

deny contains "pii_detector_not_invoked" if {
	input.request_type == "llm_call"
	not "pii-detector" in object.get(input, "guardrails_invoked", [])
}

deny contains "toxicity_threshold_exceeded" if input.toxicity_score >= config.toxicityThreshold
`);
  });
});
