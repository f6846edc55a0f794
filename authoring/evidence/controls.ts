import { OWASP } from '../../core/audit/references.ts';
import {
  CROSSWALK,
  FRAMEWORKS,
  issueRowOf,
  ONLY_IDS,
  type ControlEntry,
  type CrosswalkRow,
  type Fit,
  type FrameworkId,
} from './crosswalk.ts';

/** States of a control, in the order in which one of them decides. */
export const CONTROL_STATES = [
  /** A direct rule or issue fails. */
  'contradicted',
  /** A direct rule or capability has its evidence in the range. */
  'shown',
  /** The manifest declares it, without evidence. */
  'declared',
  /** The manifest does not declare it. */
  'not declared',
  /** A rule or an issue is about it, and the bundle has nothing of it. */
  'nothing seen',
  /** No rule and no issue is about it. */
  'not assessed',
] as const;
export type ControlState = (typeof CONTROL_STATES)[number];

export type RowState = Exclude<ControlState, 'not assessed'> | 'suppressed';

/** The state of a rule, an issue or a capability, and why. */
export interface RowResult {
  state: RowState;
  detail: string;
}

/** A row of the crosswalk with its result. */
export interface EvidenceRow extends RowResult {
  id: string;
  kind: 'rule' | 'issue' | 'capability';
  shows?: string;
  doesNotShow?: string;
}

export interface Control {
  id: string;
  /** Absent: the text of the framework is not free. */
  title?: string;
  /** Level of AISVS. */
  level?: number;
  state: ControlState;
  reason: string;
  /** The rows that are about the control. Their results are in `rows` of the bundle. */
  evidence: { row: string; fit: Fit }[];
}

export interface Framework {
  id: FrameworkId;
  title: string;
  /** Number of controls by state. */
  counts: Record<ControlState, number>;
  controls: Control[];
}

export interface ControlInputs {
  rules: ReadonlyMap<string, RowResult>;
  /** Properties of the issues that are open. */
  openIssues: readonly string[];
  /** What the bundle has of a capability, by its id. */
  capabilities: ReadonlyMap<string, string>;
}

const NOTHING: RowResult = { state: 'nothing seen', detail: 'the bundle has nothing of it' };

/** The result of every row of the crosswalk. */
export function rowsOf({ rules, openIssues, capabilities }: ControlInputs): EvidenceRow[] {
  const open = new Map<string, string[]>();
  for (const property of openIssues) {
    const id = issueRowOf(property)?.id;
    if (id !== undefined) open.set(id, [...(open.get(id) ?? []), property]);
  }
  const result = (kind: EvidenceRow['kind'], id: string): RowResult => {
    if (kind === 'rule') return rules.get(id) ?? NOTHING;
    if (kind === 'issue') {
      const properties = open.get(id);
      if (properties === undefined) return { state: 'nothing seen', detail: 'no such issue is open' };
      return { state: 'contradicted', detail: `the issue ${properties.join(', ')} is open` };
    }
    const found = capabilities.get(id);
    return found === undefined ? NOTHING : { state: 'shown', detail: found };
  };
  const rowsIn = (kind: EvidenceRow['kind'], all: readonly CrosswalkRow[]): EvidenceRow[] =>
    all.map(({ id, shows, doesNotShow }) => ({
      ...{ id, kind, ...result(kind, id) },
      ...(shows !== undefined && { shows }),
      ...(doesNotShow !== undefined && { doesNotShow }),
    }));
  return [
    ...rowsIn('rule', CROSSWALK.rules),
    ...rowsIn('issue', CROSSWALK.issues),
    ...rowsIn('capability', CROSSWALK.capabilities),
  ];
}

/** The state of every control of the frameworks. */
export function controlsOf(rows: readonly EvidenceRow[]): Framework[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return (Object.keys(FRAMEWORKS) as FrameworkId[]).map((id) => {
    const controls = CROSSWALK.frameworks[id].entries.map((entry) => controlOf(id, entry, byId));
    const counts = Object.fromEntries(
      CONTROL_STATES.map((state) => [state, controls.filter((each) => each.state === state).length]),
    ) as Framework['counts'];
    return { id, title: FRAMEWORKS[id], counts, controls };
  });
}

const ALL_ROWS = [...CROSSWALK.rules, ...CROSSWALK.issues, ...CROSSWALK.capabilities];

function controlOf(
  framework: FrameworkId,
  { id, title, level, reason: unassessed }: ControlEntry,
  rows: ReadonlyMap<string, EvidenceRow>,
): Control {
  const evidence = ALL_ROWS.flatMap(({ id: row, maps }) =>
    (maps[framework] ?? []).flatMap((map) => (map.id === id ? [{ row, fit: map.fit }] : [])),
  );
  const about = {
    ...{ id: controlId(framework, id), evidence },
    ...(title !== undefined && !ONLY_IDS.has(framework) && { title }),
    ...(level !== undefined && { level }),
  };
  if (evidence.length === 0)
    return { ...about, state: 'not assessed', reason: unassessed ?? 'the product has no evidence about it' };
  const found = (fit: Fit) =>
    evidence.flatMap((each) =>
      each.fit === fit ? [rows.get(each.row)].filter((row) => row !== undefined) : [],
    );
  return { ...about, ...stateOf(found('direct'), found('supports')) };
}

/**
 * Rows that only support a control can show no more than that something is declared. A capability of the product, such as the
 * audit log, decides only where no rule is about the control: that events exist does not show that a limit is kept.
 */
function stateOf(
  allDirect: readonly EvidenceRow[],
  supports: readonly EvidenceRow[],
): { state: ControlState; reason: string } {
  const hasRule = allDirect.some(({ kind }) => kind === 'rule');
  const direct = hasRule ? allDirect.filter(({ kind }) => kind !== 'capability') : allDirect;
  for (const state of ['contradicted', 'shown', 'declared', 'not declared'] as const) {
    const rows = direct.filter((row) => row.state === state);
    if (rows.length > 0) return { state, reason: reasonOf(rows) };
  }
  const helpful = supports.filter(({ state }) => state === 'declared' || state === 'shown');
  if (helpful.some(({ kind }) => kind === 'rule'))
    return { state: 'declared', reason: `only supporting evidence: ${reasonOf(helpful)}` };
  const suppressed = direct.filter(({ state }) => state === 'suppressed');
  if (suppressed.length > 0) return { state: 'nothing seen', reason: `suppressed: ${reasonOf(suppressed)}` };
  return {
    state: 'nothing seen',
    reason: direct.length === 0 ? 'only supporting evidence is possible' : 'no issue and no other evidence',
  };
}

const reasonOf = (rows: readonly EvidenceRow[]): string =>
  [...Map.groupBy(rows, ({ detail }) => detail)]
    .map(([detail, all]) => `${all.map(({ id }) => id).join(', ')}: ${detail}`)
    .join('; ');

const LLM_ENTRIES = Object.values(OWASP).map((text) => /(LLM\d+:2026).*\((LLM\d+:2025)/.exec(text));

/** An entry of the list of 2026 has its number of 2025 in brackets, because the same number is another risk there. */
function controlId(framework: FrameworkId, id: string): string {
  const before = LLM_ENTRIES.find((entry) => entry?.[1] === id)?.[2];
  return framework === 'owaspLlm2026' && before !== undefined ? `${id} (${before})` : id;
}
