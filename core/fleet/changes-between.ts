import type { ObservationStatus } from '../shapes/observation.ts';
import { present } from '../untrusted/present.ts';
import { CHANGE_KINDS, type ChangeKind, type HistoryChange } from '../shapes/history.ts';

const VALUES: Readonly<Record<ChangeKind, (status: ObservationStatus) => string | undefined>> = {
  phase: ({ phase }) => phase,
  grade: ({ grade }) => grade,
  // In a rollout, the hash of the last report changes with each report.
  manifest: ({ manifestChange, manifestHash }) => manifestChange?.to ?? manifestHash,
  version: ({ instances = [], reportedBy }) =>
    instances.find(({ name }) => name === reportedBy)?.sidecarVersion,
  'policy-mode': ({ policyMode }) => policyMode,
  stop: ({ stop }) => stop?.id,
};

/** Who stopped the agent and why; for a stop that ended, when its instances confirmed it. */
function stopSummary(
  before: ObservationStatus['stop'],
  after: ObservationStatus['stop'],
): string | undefined {
  if (after !== undefined) {
    const { by = 'an unknown user', reason, until } = after;
    return `by ${by}, ${until === undefined ? 'without an end' : `until ${until}`}: ${reason}`;
  }
  const { firstConfirmedAt = 'never', lastConfirmedAt = 'never' } = before ?? {};
  return `confirmed by the first instance: ${firstConfirmedAt}, by all: ${lastConfirmedAt}`;
}

/** The values that differ between two statuses of an agent. `before`: undefined for a new agent. */
export function changesBetween(
  before: ObservationStatus | undefined,
  after: ObservationStatus,
  at: Date,
): HistoryChange[] {
  return CHANGE_KINDS.flatMap((kind) => {
    const from = (before && VALUES[kind](before)) ?? null;
    const to = VALUES[kind](after) ?? null;
    if (from === to) return [];
    const summary = summaryOf(kind, before, after);
    return { at: at.toISOString(), kind, from, to, ...present({ summary }) };
  });
}

function summaryOf(
  kind: ChangeKind,
  before: ObservationStatus | undefined,
  after: ObservationStatus,
): string | undefined {
  if (kind === 'manifest') return after.manifestChange?.summary;
  return kind === 'stop' ? stopSummary(before?.stop, after.stop) : undefined;
}
