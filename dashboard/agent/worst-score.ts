import type { ObservationStatus } from '../../core/shapes/observation.ts';

/**
 * The instance whose report explains the score of the agent, which is the lowest one. The lists of the agent are of
 * `reportedBy`: the instance with the worst phase, which may have a better score. null: `reportedBy` explains the score.
 */
export function worstScored({
  score,
  reportedBy,
  instances = [],
}: Pick<ObservationStatus, 'score' | 'reportedBy' | 'instances'>): string | null {
  const lowest = instances.filter((each) => each.score === score).map(({ name }) => name);
  return reportedBy === undefined || lowest.includes(reportedBy) ? null : (lowest[0] ?? null);
}
