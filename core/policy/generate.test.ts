import { describe, expect, test } from '@jest/globals';
import { plainManifest } from '../../testing/manifests/plain-manifest.ts';
import { manifests, RULE_SETS } from '../../testing/sidecar/policy-cases.ts';
import fc, { runs } from '../../testing/random/properties.ts';
import { policyFilesOf } from './generate.ts';
import { policyDataOf, rulesOf } from './policy.ts';
import { POLICY_RULES } from './rules.ts';

const NAME = 'travel-planner';

/** The rules of every manifest for calls on the egress lanes. */
const EGRESS = `deny_egress contains "host_not_declared" if {
	host := input.host
	not host in egress.hosts
	every domain in egress.domains {
		not endswith(host, domain)
	}
}

deny_egress contains "model_not_declared" if {
	every name in input.model_names {
		not name in egress.models
	}
}

deny_egress contains "tool_not_declared" if {
	some tool in input.tools
	not tool in egress.tools
	not tool in object.get(input, "mcp_tools", [])
	every prefix in egress.toolPrefixes {
		not startswith(tool, prefix)
	}
}
`;

describe('generated files', () => {
  test('have the same Rego for all manifests that declare the same rules', () => {
    fc.assert(
      fc.property(manifests(fc.constant(NAME)), (manifest) => {
        const reasons = rulesOf(manifest).map(({ rule }) => rule.reason);
        const { 'data.json': data, ...rego } = policyFilesOf(manifest);
        const hasConstraints = (manifest.spec.tools ?? []).some((tool) => tool.constraints !== undefined);
        const same = plainManifest(NAME, reasons);
        if (hasConstraints) same.spec.tools = [{ ...same.spec.tools?.[0], name: 'drop', constraints: {} }];
        const { 'data.json': _, ...plain } = policyFilesOf(same);
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
    const { 'policy_test.rego': tests, ...files } = policyFilesOf(plainManifest('3d-agent', []));
    expect(files).toEqual({
      'policy.rego': `# Made by \`platform generate-policy\` from the manifest of an agent. Do not edit.
package platform.agent["3d_agent"]

import data.platform.agent["3d_agent"].config
import data.platform.agent["3d_agent"].egress

deny contains reason if some reason in config.always

${EGRESS}`,
      'data.json': `{
  "platform": {
    "agent": {
      "3d_agent": {
        "config": {},
        "egress": {
          "hosts": [
            "api.openai.com"
          ],
          "domains": [],
          "models": [
            "gpt-4.1"
          ],
          "tools": [
            "drop"
          ],
          "toolPrefixes": []
        }
      }
    }
  }
}
`,
    });
    const [ingress, egress] = tests.split('\n\ntest_egress', 2);
    expect(`${ingress}\n`)
      .toBe(`# Made by \`platform generate-policy\` from the manifest of an agent. Do not edit.
package platform.agent_test["3d_agent"]

import data.platform.agent["3d_agent"] as policy

test_nothing_is_denied if count(policy.deny) == 0 with input as {"request_type": "llm_call"}

test_only_reasons_in_always_are_denied if policy.deny == {"x"} with policy.config as {"always": ["x"]}
`);
    expect(egress).toBe(`_host_not_declared_when_unknown if {
	every host in ["example.com", "evil.example.org", "api.example.com.evil", ""] {
		"host_not_declared" in policy.deny_egress with input as {"host": host}
			with policy.egress as {"hosts": ["api.example.com"], "domains": [".example.com"]}
	}
}`);
  });

  test('are formatted as idiomatic Rego', () => {
    const reasons = ['pii_detector_not_invoked', 'toxicity_threshold_exceeded'] as const;
    expect(policyFilesOf(plainManifest(NAME, reasons))['policy.rego'])
      .toBe(`# Made by \`platform generate-policy\` from the manifest of an agent. Do not edit.
package platform.agent.travel_planner

import data.platform.agent.travel_planner.config
import data.platform.agent.travel_planner.egress

deny contains "pii_detector_not_invoked" if {
	input.request_type == "llm_call"
	not "pii-detector" in object.get(input, "guardrails_invoked", [])
}

deny contains "toxicity_threshold_exceeded" if input.toxicity_score >= config.toxicityThreshold

${EGRESS}`);
  });
});
