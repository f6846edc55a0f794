import type { Manifest } from '../manifest/manifest.ts';
import { usedToday } from '../observation/tokens.ts';
import { hostsOf, listed } from '../organisation/checks.ts';
import type { AgentPolicy, Subject } from '../organisation/finding.ts';
import { isExcepted } from '../organisation/select.ts';
import { MAX_ITEMS, type AgentOrganisation, type PictureItems } from '../shapes/agent-organisation.ts';
import { MAX_NAME, type MatrixRow } from '../shapes/egress.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { cut } from '../untrusted/fields.ts';

/** The rules of one agent, and its manifest. */
export interface AgentRules {
  about: Pick<Subject, 'namespace' | 'labels' | 'names' | 'at'>;
  /** Those that select the agent; null: not known. */
  policies: readonly AgentPolicy[] | null;
  directive: AgentOrganisation['allows'];
  /** null: not known. */
  manifest: Manifest | null;
}

interface Observed {
  namespace: string;
  name: string;
  status: ObservationStatus;
  /** Rows of the egress matrix, which only heartbeats have; absent: not known. */
  rows: readonly MatrixRow[] | undefined;
}

interface Named {
  path: string;
  name: string;
}

/** What the rules allow an agent, what its manifest declares and what was observed of it. What breaks a rule is marked. */
export function agentOrganisationOf(
  { namespace, name, status, rows }: Observed,
  { about, policies, directive, manifest }: AgentRules,
): AgentOrganisation {
  const { conditions = [], organisation } = status;
  const conditionOf = (wanted: string) => conditions.find(({ type }) => type === wanted) ?? null;
  return {
    ...{ namespace, agentName: name, allowed: conditionOf('Allowed'), compliant: conditionOf('Compliant') },
    organisation: organisation ?? null,
    policies:
      policies?.map((policy) => ({
        name: policy.name,
        rules: policy.spec.rules.length,
        excepted: policy.spec.rules.filter((rule) => isExcepted(policy, rule, about)).map(({ id }) => id),
      })) ?? null,
    allows: directive,
    declared: manifest && declaredBy(manifest, organisation),
    observed: observedOf(status, rows, about.at),
  };
}

function declaredBy(
  manifest: Manifest,
  organisation: ObservationStatus['organisation'],
): NonNullable<AgentOrganisation['declared']> {
  const { model, tools = [], egress } = manifest.spec;
  const models = [
    { path: 'spec.model.id', of: model },
    { path: 'spec.model.fallback.id', of: model.fallback },
  ];
  const of = (names: Named[]): PictureItems => itemsOf(names, organisation);
  return {
    models: of([
      ...models.flatMap(({ path, of: each }) =>
        each ? [{ path, name: `${each.provider}/${each.id}` }] : [],
      ),
      ...listed('spec.egress.models', egress?.models),
    ]),
    tools: of([
      ...tools.map((tool, index) => ({ path: `spec.tools[${index}].name`, name: tool.name })),
      ...listed('spec.egress.tools', egress?.tools),
    ]),
    hosts: of(hostsOf(manifest).hosts),
    maxMonthlyUSD: model.costControls?.maxMonthlyUSD ?? null,
    maxTokensPerDay: model.costControls?.maxTokensPerDay ?? null,
  };
}

/** Models and tools are in the status. Hosts are only in the rows of the last heartbeat. */
function observedOf(
  status: ObservationStatus,
  rows: Observed['rows'],
  at: Date,
): AgentOrganisation['observed'] {
  const { egress, organisation } = status;
  const seen = rows?.filter(({ observed }) => observed === true) ?? [];
  const undeclared = new Set([
    ...(egress?.undeclaredNames ?? []),
    ...seen.filter(({ verdict }) => verdict === 'undeclared').map(({ kind, name }) => `${kind} ${name}`),
  ]);
  const of = (kind: string, names: Named[]): PictureItems | null =>
    egress === undefined ? null : itemsOf(names, organisation, (name) => undeclared.has(`${kind} ${name}`));
  const { tokens, costUsd } = usedToday(status, at);
  const hosts = seen.filter(({ kind }) => kind === 'host').map(({ name }) => name);
  return {
    models: of('model', listed('status.egress.models', egress?.models)),
    tools: of('tool', listed('status.egress.tools', egress?.tools)),
    hosts: rows === undefined ? null : of('host', listed('rows', hosts)),
    tokensToday: status.tokens === undefined ? null : tokens,
    costTodayUsd: costUsd > 0 ? costUsd : null,
  };
}

/** Names that occur at several paths are one item. */
function itemsOf(
  names: readonly Named[],
  organisation: ObservationStatus['organisation'],
  isUndeclared: (name: string) => boolean = () => false,
): PictureItems {
  const found = [...Map.groupBy(names, ({ name }) => cut(name, MAX_NAME))].map(([name, places]) => {
    const broken = organisation?.broken.filter(({ path }) => places.some((each) => each.path === path)) ?? [];
    const breaks = [...new Set(broken.map(({ policy, rule }) => `${policy}/${rule}`))];
    return { name, breaks, undeclared: isUndeclared(name) };
  });
  const isMarked = ({ breaks, undeclared }: PictureItems['items'][number]): boolean =>
    breaks.length > 0 || undeclared;
  found.sort((a, b) => Number(isMarked(b)) - Number(isMarked(a)));
  return { items: found.slice(0, MAX_ITEMS), total: found.length };
}
