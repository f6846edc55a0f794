import data from '../../core/audit/crosswalk.json' with { type: 'json' };

/** The frameworks of a bundle, in the order of its pages, with the edition that the crosswalk is about. */
export const FRAMEWORKS = {
  aisvs10: 'OWASP AISVS 1.0',
  aiuc1: 'AIUC-1, release of 2026-04-15',
  owaspLlm2026: 'OWASP Top 10 for LLM Applications 2026',
  owaspAsi2026: 'OWASP Top 10 for Agentic Applications 2026',
  nistAiRmf10: 'NIST AI RMF 1.0',
  iso42001: 'ISO/IEC 42001:2023, Annex A',
  euAiAct: 'EU AI Act, Regulation (EU) 2024/1689',
} as const;
export type FrameworkId = keyof typeof FRAMEWORKS;

/** Frameworks whose texts are not free: a bundle has their ids only. */
export const ONLY_IDS: ReadonlySet<FrameworkId> = new Set(['aiuc1']);

/** `direct`: the evidence is about the same thing. `supports`: it helps. */
export type Fit = 'direct' | 'supports';

/** A control that a row has evidence for. */
export interface ControlMap {
  id: string;
  fit: Fit;
  basis: string;
}

/** A rule, an issue or a capability. Ids of issues may have placeholders, such as `tools.undeclared.<name>`. */
export interface CrosswalkRow {
  id: string;
  shows?: string;
  doesNotShow?: string;
  maps: Partial<Record<FrameworkId | 'owaspLlm2025', ControlMap[]>>;
}

/** A control of a framework. `reason`: why no row has evidence for it. */
export interface ControlEntry {
  id: string;
  title?: string;
  level?: number;
  mappedBy?: string[];
  reason?: string;
}

export interface Crosswalk {
  date: string;
  rules: CrosswalkRow[];
  issues: CrosswalkRow[];
  capabilities: CrosswalkRow[];
  frameworks: Record<FrameworkId | 'owaspLlm2025', { entries: ControlEntry[] }>;
}

export const CROSSWALK = data as Crosswalk;

const PLACEHOLDER = /<[^>]*>/;
const lengthOf = (id: string): number => id.replaceAll(new RegExp(PLACEHOLDER, 'g'), '').length;
const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/** The rows of issues, the most specific first. */
const ISSUES = CROSSWALK.issues
  .map((row) => ({
    row,
    pattern: new RegExp(`^${row.id.split(PLACEHOLDER).map(escaped).join('.+')}$`, 's'),
  }))
  .sort((a, b) => lengthOf(b.row.id) - lengthOf(a.row.id));

/** The row of an issue, such as `tools.undeclared.delete_all`; undefined: no control is about it. */
export const issueRowOf = (property: string): CrosswalkRow | undefined =>
  ISSUES.find(({ pattern }) => pattern.test(property))?.row;
