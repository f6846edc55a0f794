import { modelCheckId, reachTargets } from '../facts/declared.ts';
import type { Guardrail, Manifest } from '../manifest/manifest.ts';
import { tokenPriceOf } from '../manifest/token-price.ts';
import { ITEM_KINDS, type EvidenceTier, type ItemKind } from '../shapes/values.ts';
import { modelSubject, sightingKey, TOKENS, type SightingSource } from '../facts/sightings.ts';

type SeenTier = 'probed' | 'observed' | 'reported';

/** One declared item and its possible evidence. */
export interface DeclaredItem {
  name: string;
  /** The sighting keys that are evidence for the item, by tier. */
  keys: Readonly<Partial<Record<SeenTier, readonly string[]>>>;
  /** Compliance rules whose unexpired proof is evidence for the item. */
  rules?: readonly string[];
  /** Check id of the probe that contradicts the agent's report if the probe fails. */
  probe?: string;
}

/** One kind of declared item. */
export interface EvidenceRow {
  kind: ItemKind;
  /** Where the manifest declares the items, and how they are named. */
  declaredAt: string;
  /** The evidence for an item, by tier; the text is used in the report and on the reference page. */
  shownBy: Readonly<Partial<Record<Exclude<EvidenceTier, 'none'>, string>>>;
  /** When a report of the agent does not count. */
  contradictedBy?: string;
  items(manifest: Manifest): readonly DeclaredItem[];
}

const PROBE = 'connection from the sidecar';
const CHECK = 'check reported by the agent';
const FAILED_PROBE = "the sidecar's last probe of the address failed";

/** The evidence table, one row per kind of item. */
const ROWS: Readonly<Record<ItemKind, Omit<EvidenceRow, 'kind'>>> = {
  model: {
    declaredAt: '`spec.model.id`',
    shownBy: {
      observed: 'usage with this model id in a response, or call of it on an egress lane',
      reported:
        '`model` event with this model id, or check reported by the agent; also usage in a response while the egress lane of the vendor has no call',
    },
    contradictedBy: 'responses or egress lanes of the last 24 hours contain only other models',
    items: ({ spec: { model } }) => {
      const keyOf = (source: SightingSource): string => sightingKey(source, modelSubject(model.id));
      const observed = [keyOf('wire'), keyOf('requested'), keyOf('lane')];
      const reported = [keyOf('report'), sightingKey('check', modelCheckId(model))];
      return [{ name: model.id, keys: { observed, reported } }];
    },
  },
  tool: {
    declaredAt: '`spec.tools[].name`',
    shownBy: {
      observed: 'call or result of the tool on an egress lane',
      proved: 'proof of SEC-LLM-07',
      reported: 'call in a behavioral header or event, or check reported by the agent',
    },
    items: ({ spec }) =>
      (spec.tools ?? []).map(({ name }) => ({
        name,
        keys: {
          observed: [sightingKey('lane', `tool:${name}`)],
          reported: [sightingKey('report', `tool:${name}`), sightingKey('check', `tool:${name}`)],
        },
        rules: ['SEC-LLM-07'],
      })),
  },
  guardrail: {
    declaredAt: '`spec.guardrails.input[].type` and `output[].type`, as `input.<type>` and `output.<type>`',
    shownBy: {
      proved:
        'proof of SEC-LLM-01 (input guardrails prompt-injection and topic-filter) or SEC-LLM-02 (output guardrails)',
      reported: 'invocation in a behavioral header or event',
    },
    items: ({ spec: { guardrails } }) => [
      ...(guardrails?.input ?? []).map((each) => guardrailItem('input', each)),
      ...(guardrails?.output ?? []).map((each) => guardrailItem('output', each)),
    ],
  },
  service: {
    declaredAt: '`spec.requires.services[]`',
    shownBy: { probed: PROBE, reported: CHECK },
    contradictedBy: FAILED_PROBE,
    items: (manifest) => reachItems(manifest, 'service'),
  },
  memory: {
    declaredAt: '`spec.memory`: `backend`, `shortTerm`, `longTerm`, `vector`',
    shownBy: { probed: PROBE, reported: `${CHECK}, or \`memory\` event with this backend` },
    contradictedBy: FAILED_PROBE,
    items: (manifest) => reachItems(manifest, 'memory').map((item) => withBackend(manifest, item)),
  },
  mcp: {
    declaredAt: '`spec.mcp.servers[].name`',
    shownBy: { probed: PROBE, observed: 'response of the server on its egress lane', reported: CHECK },
    contradictedBy: FAILED_PROBE,
    items: (manifest) => reachItems(manifest, 'mcp').map(withLane),
  },
  budget: {
    declaredAt: '`spec.model.costControls.maxTokensPerDay` and `maxMonthlyUSD`',
    shownBy: {
      observed:
        'tokens in responses or on an egress lane; `maxMonthlyUSD` also needs both prices in `usdPerMillionTokens`',
      proved: 'proof of MODEL-03 (only for `maxMonthlyUSD`)',
      reported:
        'tokens in `model` events, or in responses while the egress lane of the vendor has no call; `maxMonthlyUSD` also needs both prices',
    },
    items: budgetItems,
  },
  evaluation: {
    declaredAt: '`spec.evaluation.datasets`, one item for all of them',
    shownBy: { proved: 'proof of EVAL-01' },
    items: ({ spec }) =>
      (spec.evaluation?.datasets ?? []).length === 0
        ? []
        : [{ name: 'datasets', keys: {}, rules: ['EVAL-01'] }],
  },
};

export const EVIDENCE_ROWS: readonly EvidenceRow[] = ITEM_KINDS.map((kind) => ({ kind, ...ROWS[kind] }));

function guardrailItem(where: 'input' | 'output', { type }: Guardrail): DeclaredItem {
  return {
    name: `${where}.${type}`,
    keys: { reported: [sightingKey('report', `guardrail:${type}`)] },
    rules: guardrailRules(where, type),
  };
}

function guardrailRules(where: 'input' | 'output', type: Guardrail['type']): string[] {
  if (where === 'output') return ['SEC-LLM-02'];
  return type === 'prompt-injection' || type === 'topic-filter' ? ['SEC-LLM-01'] : [];
}

function reachItems(manifest: Manifest, prefix: string): DeclaredItem[] {
  return reachTargets(manifest)
    .filter(({ id }) => id.startsWith(`${prefix}:`))
    .map(({ id }) => ({
      name: id.slice(prefix.length + 1),
      keys: { probed: [sightingKey('probe', id)], reported: [sightingKey('check', id)] },
      probe: id,
    }));
}

function withLane(item: DeclaredItem): DeclaredItem {
  return { ...item, keys: { ...item.keys, observed: [sightingKey('lane', `mcp:${item.name}`)] } };
}

function withBackend({ spec: { memory } }: Manifest, item: DeclaredItem): DeclaredItem {
  const backends: Readonly<Record<string, string | undefined>> = {
    backend: memory?.backend,
    shortTerm: memory?.shortTerm?.backend ?? memory?.backend,
    longTerm: memory?.longTerm?.backend,
    vector: memory?.vector?.backend,
  };
  const backend = backends[item.name];
  if (backend === undefined) return item;
  const reported = [...(item.keys.reported ?? []), sightingKey('report', `backend:${backend}`)];
  return { ...item, keys: { ...item.keys, reported } };
}

function budgetItems(manifest: Manifest): DeclaredItem[] {
  const { maxTokensPerDay, maxMonthlyUSD } = manifest.spec.model.costControls ?? {};
  const tokens = {
    observed: [sightingKey('wire', TOKENS), sightingKey('lane', TOKENS)],
    reported: [sightingKey('report', TOKENS)],
  };
  // Without prices no cost is computed.
  const cost = tokenPriceOf(manifest) === undefined ? {} : tokens;
  return [
    ...(maxTokensPerDay === undefined ? [] : [{ name: 'maxTokensPerDay', keys: tokens }]),
    ...(maxMonthlyUSD === undefined ? [] : [{ name: 'maxMonthlyUSD', keys: cost, rules: ['MODEL-03'] }]),
  ];
}
