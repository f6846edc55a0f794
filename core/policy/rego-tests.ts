import { costLimitTests, EGRESS_TESTS } from './egress-rego-tests.ts';
import type { DenialReason, EgressReason } from './policy-rule.ts';

interface RegoTest {
  input: string;
  /** Data of the test instead of the generated data. */
  config?: string;
  /** The test holds for every value of a variable that `input` contains. */
  every?: string;
}

/** By name. The rule must deny the input; where the name begins with `not_`, it must not. */
export type RegoTests = Readonly<Record<string, RegoTest>>;

const TESTS: Readonly<Record<DenialReason, RegoTests>> = {
  daily_token_limit_exceeded: {
    at_the_limit: { input: '{"tokens_today": 1000}', config: '{"maxTokensPerDay": 1000}' },
    not_below: { input: '{"tokens_today": 999}', config: '{"maxTokensPerDay": 1000}' },
    not_when_unknown: { input: '{}', config: '{"maxTokensPerDay": 1000}' },
    as_declared: { input: '{"tokens_today": policy.config.maxTokensPerDay}' },
  },
  destructive_tool_without_confirmation: {
    when_absent: {
      input: '{"tools_called": ["look", "drop"]}',
      config: '{"destructiveTools": ["wipe", "drop"]}',
    },
    when_refused: {
      input: '{"tools_called": ["drop"], "user_confirmed": false}',
      config: '{"destructiveTools": ["drop"]}',
    },
    not_when_confirmed: {
      input: '{"tools_called": ["drop"], "user_confirmed": true}',
      config: '{"destructiveTools": ["drop"]}',
    },
    not_for_others: { input: '{"tools_called": ["look"]}', config: '{"destructiveTools": ["drop"]}' },
    not_when_unknown: { input: '{}', config: '{"destructiveTools": ["drop"]}' },
    as_declared: { every: 'tool in policy.config.destructiveTools', input: '{"tools_called": [tool]}' },
  },
  memory_ttl_mismatch: {
    shorter_or_longer: {
      every: 'ttl in [0, 3599, 3601]',
      input: '{"memory_write": {"ttl_seconds": ttl}}',
      config: '{"ttlSeconds": 3600}',
    },
    not_when_equal: { input: '{"memory_write": {"ttl_seconds": 3600}}', config: '{"ttlSeconds": 3600}' },
    not_when_unknown: { input: '{}', config: '{"ttlSeconds": 3600}' },
    as_declared: { input: '{"memory_write": {"ttl_seconds": -1}}' },
  },
  monthly_cost_limit_exceeded: costLimitTests('policy.config'),
  pii_detector_not_invoked: {
    when_unknown: { input: '{"request_type": "llm_call"}' },
    among_others: { input: '{"request_type": "llm_call", "guardrails_invoked": ["custom"]}' },
    not_when_invoked: {
      input: '{"request_type": "llm_call", "guardrails_invoked": ["custom", "pii-detector"]}',
    },
    not_in_a_report: { input: '{"request_type": "report"}' },
  },
  toxicity_threshold_exceeded: {
    at_the_threshold: { input: '{"toxicity_score": 0.7}', config: '{"toxicityThreshold": 0.7}' },
    not_below: { input: '{"toxicity_score": 0.69}', config: '{"toxicityThreshold": 0.7}' },
    not_when_unknown: { input: '{}', config: '{"toxicityThreshold": 0.7}' },
    as_declared: { input: '{"toxicity_score": policy.config.toxicityThreshold}' },
  },
};

/** The set of denials that a test is about, the data of its rules, and the start of the test's name. */
interface RuleSet {
  denials: string;
  data: string;
  prefix: string;
}

const RULES: RuleSet = { denials: 'policy.deny', data: 'policy.config', prefix: 'test' };
const EGRESS: RuleSet = { denials: 'policy.deny_egress', data: 'policy.egress', prefix: 'test_egress' };

/** The tests of a rule in Rego, formatted like `opa fmt`; the same text for every manifest. `policy`: the package under test. */
export const regoTestsOf = (reason: DenialReason): string => textOf(RULES, reason, TESTS[reason]);

/** The same for a rule about calls on the egress lanes. */
export const egressTestsOf = (reason: EgressReason): string => textOf(EGRESS, reason, EGRESS_TESTS[reason]);

function textOf(set: RuleSet, reason: string, tests: RegoTests): string {
  return Object.entries(tests)
    .map(([name, test]) =>
      regoTest(set, `${reason}_${name}`, { ...test, reason, isDenied: !name.startsWith('not_') }),
    )
    .join('\n\n');
}

function regoTest(
  { denials, data, prefix }: RuleSet,
  name: string,
  { input, config, every, reason, isDenied }: RegoTest & { reason: string; isDenied: boolean },
): string {
  const indent = every === undefined ? '\t' : '\t\t';
  return [
    `${prefix}_${name} if {`,
    ...(every === undefined ? [] : [`\tevery ${every} {`]),
    `${indent}${isDenied ? '' : 'not '}"${reason}" in ${denials} with input as ${input}`,
    ...(config === undefined ? [] : [`${indent}\twith ${data} as ${config}`]),
    ...(every === undefined ? [] : ['\t}']),
    '}',
  ].join('\n');
}
