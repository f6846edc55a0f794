import type { EgressSummary } from '../../core/shapes/egress.ts';
import type { Issue } from '../../core/shapes/gap.ts';

/** One observation that contradicts the manifest or the report of the agent. */
export interface EgressRow {
  /** What was observed, such as `tool delete_all`. */
  item: string;
  state: 'undeclared' | 'misreported' | 'unseen';
  description: string;
  remedy: string;
  /** Property of the gap issue, which leads to the page of its rule; null: no rule is about items of this kind. */
  rule: string | null;
}

/** Gap properties of issues about outgoing calls, in the order of the rows. `kind`: the kind of item that ends the property. */
export const RULES: readonly {
  prefix: string;
  kind: string | null;
  state: EgressRow['state'];
  item: string;
}[] = [
  { prefix: 'tools.undeclared.', kind: 'tool', state: 'undeclared', item: '' },
  { prefix: 'model.undeclared.', kind: 'model', state: 'undeclared', item: '' },
  { prefix: 'tokens.misreported', kind: null, state: 'misreported', item: 'tokens' },
  { prefix: 'egress.unseen', kind: null, state: 'unseen', item: 'connections' },
  { prefix: 'egress.lane-unused.', kind: 'lane', state: 'unseen', item: '' },
];

/** Remedies of undeclared items without a rule, by kind. */
export const REMEDIES: Readonly<Record<string, string>> = {
  host: 'Declare the host in spec.egress.hosts, or remove the call from the agent.',
  mcp: 'Declare the server in spec.mcp, or remove its lane.',
};

/**
 * What lanes and census observed against the manifest: the issues about it, then the undeclared items that no issue is about.
 * For a heartbeat without the rows of the matrix.
 */
export function egressRows(
  { undeclaredNames }: Pick<EgressSummary, 'undeclaredNames'>,
  issues: readonly Issue[],
): EgressRow[] {
  const found = RULES.flatMap(({ prefix, kind, state, item }) =>
    issues
      .filter(({ property }) => (kind === null ? property === prefix : property.startsWith(prefix)))
      .map(({ property, description, recommendation }): EgressRow => ({
        ...{ item: kind === null ? item : `${kind} ${property.slice(prefix.length)}`, state, description },
        ...{ remedy: recommendation, rule: property },
      })),
  );
  const named = new Set(found.map(({ item }) => item));
  const others = undeclaredNames
    .filter((item) => !named.has(item))
    .map((item): EgressRow => {
      const kind = item.split(' ', 1)[0] ?? '';
      const remedy = Object.hasOwn(REMEDIES, kind) ? REMEDIES[kind] : undefined;
      return {
        ...{ item, state: 'undeclared', rule: null },
        description: 'Observed, but the manifest does not declare it.',
        remedy: remedy ?? 'Declare it in the manifest, or remove it from the agent.',
      };
    });
  return [...found, ...others];
}
