import type { CoverageGap, CoverageReport, CoverageSummary } from '../../core/shapes/coverage.ts';

/** One kind of blind spot, with its agents. `count` may be greater than their number, because lists have a limit. */
export interface CoverageGroup extends CoverageSummary {
  gaps: CoverageGap[];
}

/** The kinds with gaps, most agents first, and the kinds without. */
export function groupGaps({ kinds, gaps }: Pick<CoverageReport, 'kinds' | 'gaps'>): {
  found: CoverageGroup[];
  clear: CoverageGroup[];
} {
  const groups = kinds.map((kind) => ({ ...kind, gaps: gaps.filter((gap) => gap.kind === kind.kind) }));
  return {
    found: groups.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count),
    clear: groups.filter(({ count }) => count === 0),
  };
}

/** The namespaces with a gap and those that were known before, sorted. A filtered report names only one. */
export function withNamespaces(known: readonly string[], gaps: readonly CoverageGap[]): string[] {
  return [...new Set([...known, ...gaps.map(({ namespace }) => namespace)])].sort();
}
