import type { NamespaceSelector, OrganisationRule } from '../shapes/agent-policy.ts';
import type { AgentPolicy, Subject } from './finding.ts';
import { matchesAny } from './pattern.ts';

type Selected = 'yes' | 'no' | { notJudged: string };

/** Whether a policy applies to an agent. */
export function selects(
  { spec: { namespaceSelector, agents } }: AgentPolicy,
  { labels, names }: Pick<Subject, 'labels' | 'names'>,
): Selected {
  if (agents !== undefined && !names.some((name) => matchesAny(agents, name))) return 'no';
  if (namespaceSelector === undefined || isEmpty(namespaceSelector)) return 'yes';
  if (labels === null)
    return { notJudged: 'it selects namespaces by labels, and the labels of the namespace are not known' };
  return matchesLabels(namespaceSelector, labels) ? 'yes' : 'no';
}

const isEmpty = ({ matchLabels = {}, matchExpressions = [] }: NamespaceSelector): boolean =>
  Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;

function matchesLabels(
  { matchLabels = {}, matchExpressions = [] }: NamespaceSelector,
  labels: Readonly<Record<string, string>>,
): boolean {
  const valueOf = (key: string): string | undefined => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  return (
    Object.entries(matchLabels).every(([key, value]) => valueOf(key) === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = valueOf(key);
      const isListed = value !== undefined && values.includes(value);
      return {
        In: isListed,
        NotIn: !isListed,
        Exists: value !== undefined,
        DoesNotExist: value === undefined,
      }[operator];
    })
  );
}

/** The rules that apply to an agent: those of the policies that select it, without exceptions. */
export const rulesFor = (
  policies: readonly AgentPolicy[],
  subject: Pick<Subject, 'namespace' | 'labels' | 'names' | 'at'>,
): OrganisationRule[] =>
  policies.flatMap((policy) =>
    selects(policy, subject) === 'yes'
      ? policy.spec.rules.filter((rule) => !isExcepted(policy, rule, subject))
      : [],
  );

/** Whether an unexpired exception of the policy covers this rule for an agent. */
export function isExcepted(
  { spec: { exceptions = [] } }: AgentPolicy,
  { id }: Pick<OrganisationRule, 'id'>,
  { namespace, names, at }: Pick<Subject, 'namespace' | 'names' | 'at'>,
): boolean {
  return exceptions.some(
    (each) =>
      each.namespace === namespace &&
      each.rules.includes(id) &&
      Date.parse(each.expires) > at.getTime() &&
      names.every((name) => each.agents === undefined || matchesAny(each.agents, name)),
  );
}
