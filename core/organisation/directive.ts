import { checkOf, type OrganisationRule } from '../shapes/agent-policy.ts';
import type { OrganisationDirective } from '../shapes/directive.ts';
import type { PolicyInput } from '../policy/policy-input.ts';
import type { AgentPolicy, Subject } from './finding.ts';
import { allowsHost, allowsModel, toolProblem } from './names.ts';
import { rulesFor } from './select.ts';

/** What the lanes of an agent enforce: its Deny rules of models, tools, hosts and budgets. */
export function directiveOf(
  policies: readonly AgentPolicy[],
  subject: Pick<Subject, 'namespace' | 'labels' | 'names' | 'at'>,
): OrganisationDirective {
  const rules = rulesFor(policies, subject).filter(({ action }) => action === 'Deny');
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

export type OrganisationDenial =
  | 'model_not_allowed'
  | 'tool_not_allowed'
  | 'host_not_allowed'
  // Those of the budgets of the manifest.
  | 'daily_token_limit_exceeded'
  | 'monthly_cost_limit_exceeded';

/** The members of the input of the policy engine that the rules compare. */
export type OrganisationCall = Pick<
  PolicyInput,
  'model' | 'tools' | 'host' | 'tokens_today' | 'reserved_tokens' | 'cost_today_usd'
>;

/**
 * Why the organisation does not allow a call on a lane; empty: it does.
 * @param about `vendors`: the vendor of the lane, and those of the manifest for a gateway. `servers`: names of the declared MCP servers
 */
export function organisationDenials(
  { models, tools, hosts, maxMonthlyUSD, maxTokensPerDay }: OrganisationDirective,
  { model, tools: names = [], host, tokens_today, reserved_tokens = 0, cost_today_usd }: OrganisationCall,
  { vendors, servers }: { vendors: readonly string[]; servers: ReadonlySet<string> },
): OrganisationDenial[] {
  const rules = [{ forbidden: tools.forbidden }, ...tools.allowed.map((allowed) => ({ allowed }))];
  const isForbidden = (name: string): boolean =>
    rules.some((rule) => toolProblem(rule, name, { servers }) !== null);
  const found: Record<OrganisationDenial, boolean> = {
    model_not_allowed: model !== undefined && models.some((allowed) => !allowsModel(allowed, vendors, model)),
    tool_not_allowed: names.some(isForbidden),
    host_not_allowed: host !== undefined && hosts.some((allowed) => !allowsHost(allowed, host)),
    daily_token_limit_exceeded:
      maxTokensPerDay !== null &&
      tokens_today !== undefined &&
      tokens_today + reserved_tokens > maxTokensPerDay,
    monthly_cost_limit_exceeded:
      maxMonthlyUSD !== null && cost_today_usd !== undefined && cost_today_usd >= maxMonthlyUSD / 30,
  };
  return (Object.keys(found) as OrganisationDenial[]).filter((denial) => found[denial]);
}
