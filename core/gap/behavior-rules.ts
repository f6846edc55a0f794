import { isFailing } from '../behavior/summarize-behavior.ts';
import type { PolicyRule } from '../policy/policy-rule.ts';
import type { Severity } from '../shapes/values.ts';
import { RESULT_INVALID } from '../policy/engine.ts';
import { POLICY_RULES } from '../policy/rules.ts';
import { gapRules, type RuleFinding, type RuleInput, type GapRule } from './finding.ts';

/** The policy rules by denial reason. Reasons that an engine adds itself have severity low. */
const DENIALS: ReadonlyMap<string, PolicyRule> = new Map(POLICY_RULES.map((rule) => [rule.reason, rule]));

const RESULT_ADVICE = 'Write `deny` as a set of texts, or of objects with a text in `msg` or `reason`.';

/** Number of consecutive requests without behavioral data that is an issue. */
const UNREPORTED_REQUESTS = 100;

/** The denial reasons by severity, as text for the rule table. */
function denialTexts(): GapRule['when'] {
  const reasonsOf = (severity: Severity): string =>
    POLICY_RULES.flatMap((rule) => (rule.severity === severity ? [`\`${rule.reason}\``] : [])).join(', ');
  return {
    critical: reasonsOf('critical'),
    high: reasonsOf('high'),
    medium: reasonsOf('medium'),
    low: 'any other reason',
  };
}

/** Rows about the behavior observed in proxied requests and the policy engine's decisions on it. */
export const BEHAVIOR_RULES = gapRules({
  'guardrails.<where>.<type>': {
    title: 'Declared guardrail not observed in every request',
    recommendation:
      'Run the guardrail on every request and report it in X-Platform-Guardrails-Invoked, or remove it from spec.guardrails.',
    when: {
      high: 'a declared guardrail was observed in less than 50 % of the newest requests with behavioral data (at most 100)',
      medium: 'in less than 80 %',
      low: 'in less than 100 %',
    },
    find: (input) => [...findGuardrails(input, 'input'), ...findGuardrails(input, 'output')],
  },
  'guardrails.unreported': {
    title: 'No behavioral data about guardrails',
    recommendation:
      'Report the guardrails that run in the header X-Platform-Guardrails-Invoked or as events (POST /events).',
    when: {
      low: `guardrails are declared, but at least the last ${UNREPORTED_REQUESTS} requests with a 2xx response (GET, HEAD and OPTIONS excluded) had no behavioral data`,
    },
    find: findUnreported,
  },
  'serving.errors': {
    title: 'Half of the responses are server errors',
    recommendation:
      "Fix the errors in the agent's log. `GET /audit` of the sidecar lists the failed requests.",
    when: {
      medium:
        'at least half of the last 20 responses of the agent (at least 4) have a 5xx status; responses of the sidecar itself and probes of health endpoints do not count',
    },
    find: findErrors,
  },
  'policy.<reason>': {
    title: 'Policy denies the observed behavior',
    recommendation: 'Change the agent so that it complies with this policy rule.',
    when: denialTexts(),
    find: findDenials,
  },
  'policy.not-loaded': {
    title: 'Policy rules not loaded',
    recommendation: 'Generate the rules with `platform generate-policy` and load them into the engine.',
    when: {
      high: "the policy engine responds but does not have this agent's rules, or does not deny a canary input (checked at start and every minute)",
    },
    find: ({ facts }) =>
      facts.policy.state === 'not-loaded'
        ? {
            severity: 'high',
            description:
              "The policy engine responds but does not have this agent's rules, or has the rules of another manifest. A request that the engine allows is therefore not verified.",
            field: 'spec',
            declared: 'policy rules',
          }
        : null,
  },
});

function findGuardrails({ manifest, facts }: RuleInput, where: 'input' | 'output'): RuleFinding[] {
  const { sampled, guardrailsInvoked } = facts.behavior;
  if (sampled === 0) return [];
  return (manifest.spec.guardrails?.[where] ?? []).flatMap(({ type }, index) => {
    const seen = guardrailsInvoked.get(type) ?? 0;
    const severity = severityOfRate(seen / sampled);
    if (severity === null) return [];
    return {
      severity,
      property: `guardrails.${where}.${type}`,
      description: `The declared guardrail ${type} was observed in ${seen} of the last ${sampled} requests with behavioral data.`,
      recommendation: `Run ${type} on every request and report it in X-Platform-Guardrails-Invoked, or remove it from spec.guardrails.${where}.`,
      field: `spec.guardrails.${where}[${index}].type`,
      declared: type,
      observed: seen === 0 ? null : `${seen} of ${sampled} requests`,
      evidenceLevel: 'behavioral' as const,
    };
  });
}

function findUnreported({ manifest, facts }: RuleInput): RuleFinding | null {
  const { input = [], output = [] } = manifest.spec.guardrails ?? {};
  const { requestsWithout = 0 } = facts.behavior;
  if (input.length + output.length === 0 || requestsWithout < UNREPORTED_REQUESTS) return null;
  return {
    severity: 'low',
    description: `Guardrails are declared, but the last ${UNREPORTED_REQUESTS} requests or more had no behavioral data. There is no evidence that a guardrail runs.`,
    field: 'spec.guardrails',
    declared: [...input, ...output].map(({ type }) => type).join(', '),
    evidenceLevel: 'behavioral',
  };
}

function findErrors({ facts: { behavior } }: RuleInput): RuleFinding | null {
  const { serving } = behavior;
  if (!isFailing(serving)) return null;
  const observed = `${serving.failed} of the last ${serving.responses} responses`;
  return {
    severity: 'medium',
    description: `The agent sent a 5xx status in ${observed}.`,
    field: 'spec.api',
    declared: 'an agent that serves requests',
    observed,
    evidenceLevel: 'behavioral',
  };
}

/** The severity for a share of requests (0..1) with the guardrail; null: the guardrail was in every request. */
function severityOfRate(rate: number): Severity | null {
  if (rate < 0.5) return 'high';
  if (rate < 0.8) return 'medium';
  return rate < 1 ? 'low' : null;
}

function findDenials({ facts }: RuleInput): RuleFinding[] {
  const { denials = [], problem = '' } = 'denials' in facts.policy ? facts.policy : {};
  return denials.map((reason) => {
    const known = DENIALS.get(reason);
    const isInvalid = reason === RESULT_INVALID;
    const recommendation = isInvalid ? RESULT_ADVICE : known?.recommendation;
    return {
      severity: known?.severity ?? 'low',
      property: `policy.${reason}`,
      description: `The policy engine denies the observed behavior: ${reason}${isInvalid && problem !== '' ? ` (${problem})` : ''}.`,
      ...(recommendation !== undefined && { recommendation }),
      source: 'policy' as const,
      field: known?.field ?? 'spec',
      declared: reason,
      observed: 'denied',
      evidenceLevel: 'behavioral' as const,
    };
  });
}
