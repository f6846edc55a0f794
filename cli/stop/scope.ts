import { nearest } from '../../core/manifest/nearest.ts';
import { matchesAny } from '../../core/organisation/pattern.ts';
import type { AgentKey, ListedStop, StopRequest } from './stops.ts';

/** What the command line selects: everything, or agents by names or patterns in namespaces by names or patterns. */
export interface Scope {
  agents: readonly string[];
  namespaces: readonly string[];
  all: boolean;
  /** Namespace of the release. */
  rootNamespace: string;
}

type Target = Pick<StopRequest, 'namespace' | 'agents' | 'namespaces'>;

export const isPattern = (text: string): boolean => text.includes('*');

export const didYouMean = (word: string, known: readonly string[]): string => {
  const similar = nearest(word, known);
  return similar === undefined || similar === word ? '' : ` (did you mean ${similar}?)`;
};

/** The stops to create. Throws if an agent is unknown or ambiguous. @param known agents of the namespace; null: not readable */
export function targetsOf(scope: Scope, known: readonly AgentKey[] | null): Target[] {
  const { agents, namespaces, all, rootNamespace } = scope;
  if (all) return [{}];
  const [namespace, ...others] = namespaces;
  // In the namespace of the release a stop without namespaces would apply to every namespace.
  const inside = (homes: readonly string[], names: readonly string[]): Target => {
    const [home = ''] = homes;
    const isOwn = homes.length === 1 && !isPattern(home) && home !== rootNamespace;
    return {
      ...(isOwn ? { namespace: home } : { namespaces: [...homes] }),
      ...(names.length > 0 && { agents: [...names] }),
    };
  };
  if (namespace === undefined && agents.some(isPattern))
    throw new Error('a pattern of agents requires --namespace');
  if (others.length > 0 || known === null || agents.every(isPattern)) return [inside(namespaces, agents)];
  const homes = new Map<string, string[]>();
  for (const name of agents.filter((each) => !isPattern(each))) {
    const where = new Set(known.filter((each) => each.name === name).map((each) => each.namespace));
    const [home, second] = where;
    if (home === undefined) throw new Error(unknownAgent(name, known, namespace));
    if (second !== undefined && namespace === undefined)
      throw new Error(`${name} exists in several namespaces: ${[...where].join(', ')}; pass --namespace`);
    homes.set(home, [...(homes.get(home) ?? []), name]);
  }
  if (namespace !== undefined) return [inside(namespaces, agents)];
  return [...homes].map(([home, names]) => inside([home], names));
}

function unknownAgent(name: string, known: readonly AgentKey[], namespace: string | undefined): string {
  const hint = didYouMean(name, [...new Set(known.map((each) => each.name))]);
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  return `there is no agent ${name}${where}${hint}; to stop it before it starts, pass a pattern such as '${name}*' with --namespace`;
}

/** Whether a stop concerns the selected agents only (`chosen`), or also others, so that a resume leaves it (`wider`). */
export function planResume(
  { agents, namespaces, all, rootNamespace }: Scope,
  stops: readonly ListedStop[],
): { chosen: ListedStop[]; wider: ListedStop[] } {
  if (all) return { chosen: [...stops], wider: [] };
  const spaces = (stop: ListedStop) =>
    stop.namespace === rootNamespace ? (stop.namespaces ?? ['*']) : [stop.namespace];
  const isWithin = (narrow: readonly string[], wide: readonly string[]): boolean =>
    wide.length === 0 || narrow.every((each) => matchesAny(wide, each));
  const chosen = stops.filter(
    (stop) => isWithin(spaces(stop), namespaces) && isWithin(stop.agents ?? ['*'], agents),
  );
  const homes = namespaces.length > 0 ? namespaces : chosen.flatMap(spaces);
  const overlap = (some: readonly string[], others: readonly string[]): boolean =>
    others.length === 0 || others.some((each) => matchesAny(some, each) || some.includes(each));
  const wider = stops.filter(
    (stop) => !chosen.includes(stop) && overlap(spaces(stop), homes) && overlap(stop.agents ?? ['*'], agents),
  );
  return { chosen, wider };
}
