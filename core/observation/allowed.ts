import type { OrganisationFinding } from '../shapes/organisation.ts';
import { cut } from '../untrusted/fields.ts';
import type { ConditionInput, ConditionRow } from './condition-input.ts';
import { row } from './condition-table.ts';

/** Characters of a message, which contains text of the manifest. */
const MAX_MESSAGE = 300;

const denied = ({ organisation }: ConditionInput): OrganisationFinding | undefined =>
  organisation?.broken.find(({ action }) => action === 'Deny');

const textOf = ({ policy, rule, message }: OrganisationFinding): string =>
  cut(`${policy}/${rule}: ${message}`, MAX_MESSAGE);

/** The message of the first broken Deny rule; null: none is broken. */
export function brokenRule(input: ConditionInput): string | null {
  const found = denied(input);
  return found === undefined ? null : textOf(found);
}

/** The rows of the condition `Allowed` while an instance reports. */
export const ALLOWED: readonly ConditionRow[] = [
  row('True', 'NoPolicy', {
    when: 'no AgentPolicy selects the agent',
    holds: ({ organisation }) => organisation === undefined,
    message: () => 'no organisation rule selects the agent',
  }),
  row('False', 'RuleBroken', {
    when: 'the agent breaks a Deny rule of an AgentPolicy; `status.organisation` lists all findings',
    holds: (input) => denied(input) !== undefined,
    message: (input) => brokenRule(input) ?? '',
  }),
  row('Unknown', 'NotJudged', {
    when: 'a rule could not be applied, because its AgentPolicy is not valid, the manifest is not known, or the manifest does not contain what the rule is about',
    holds: ({ organisation }) => (organisation?.notJudged.length ?? 0) > 0,
    message: ({ organisation }) => {
      const [first] = organisation?.notJudged ?? [];
      const about = [first?.policy, first?.rule].filter((part) => part !== undefined).join('/');
      return cut(`${about}: ${first?.reason}`, MAX_MESSAGE);
    },
  }),
  row('True', 'RulesBroken', {
    when: 'the agent breaks only Warn and Audit rules',
    holds: ({ organisation }) => (organisation?.broken.length ?? 0) > 0,
    message: ({ organisation }) => `broken Warn and Audit rules: ${organisation?.brokenTotal}`,
  }),
  row('True', 'Allowed', {
    when: 'the agent breaks no rule',
    message: () => 'the agent breaks no organisation rule',
  }),
];
