import { checkOf, type OrganisationRule } from '../shapes/agent-policy.ts';
import type { OrganisationDirective } from '../shapes/directive.ts';
import type { EgressQuery } from '../policy/egress-input.ts';
import type { AgentPolicy, Subject } from './finding.ts';
import { allowsHost, allowsModel, toolProblem } from './names.ts';
import { isExcepted, selects } from './select.ts';

/** What the lanes of an agent enforce: its Deny rules of models, tools, hosts and budgets. */
export function directiveOf(
  policies: readonly AgentPolicy[],
  subject: Pick<Subject, 'namespace' | 'labels' | 'names' | 'at'>,
): OrganisationDirective {
  const rules = policies.flatMap((policy) =>
    selects(policy, subject) === 'yes'
      ? policy.spec.rules.filter((rule) => rule.action === 'Deny' && !isExcepted(policy, rule, subject))
      : [],
  );
  const partsOf = <K extends 'models' | 'tools' | 'hosts' | 'budget'>(
    name: K,
  ): NonNullable<OrganisationRule[K]>[] =>
    rules.flatMap((rule) => (checkOf(rule) === name && rule[name] !== undefined ? [rule[name]] : []));
  const budgets = partsOf('budget');
  const smallest = (values: (number | undefined)[]): number | null => {
    const known = values.filter((value) => value !== undefined);
    return known.length === 0 ? null : Math.min(...known);
  };
  return {
    models: partsOf('models').map(({ allowed }) => allowed),
    tools: {
      allowed: partsOf('tools').flatMap(({ allowed }) => (allowed === undefined ? [] : [allowed])),
      forbidden: partsOf('tools').flatMap(({ forbidden = [] }) => forbidden),
    },
    hosts: partsOf('hosts').map(({ allowed }) => allowed),
    maxMonthlyUSD: smallest(budgets.map(({ maxMonthlyUSD }) => maxMonthlyUSD)),
    maxTokensPerDay: smallest(budgets.map(({ maxTokensPerDay }) => maxTokensPerDay)),
  };
}

export const ORGANISATION_DENIALS = ['model_not_allowed', 'tool_not_allowed', 'host_not_allowed'] as const;
export type OrganisationDenial = (typeof ORGANISATION_DENIALS)[number];

/**
 * Why the organisation does not allow a call on a lane; empty: it does. Budgets are compared where the budgets of the manifest are.
 * @param vendors the vendor of the lane, and those of the manifest for a gateway
 * @param servers names of the declared MCP servers
 */
export function organisationDenials(
  { models, tools, hosts }: OrganisationDirective,
  { model, tools: names = [], host }: Pick<EgressQuery, 'model' | 'tools' | 'host'>,
  { vendors, servers }: { vendors: readonly string[]; servers: ReadonlySet<string> },
): OrganisationDenial[] {
  const rules = [{ forbidden: tools.forbidden }, ...tools.allowed.map((allowed) => ({ allowed }))];
  const isForbidden = (name: string): boolean =>
    rules.some((rule) => toolProblem(rule, name, { servers }) !== null);
  return [
    ...(model !== undefined && models.some((allowed) => !allowsModel(allowed, vendors, model))
      ? (['model_not_allowed'] as const)
      : []),
    ...(names.some(isForbidden) ? (['tool_not_allowed'] as const) : []),
    ...(host !== undefined && hosts.some((allowed) => !allowsHost(allowed, host))
      ? (['host_not_allowed'] as const)
      : []),
  ];
}
