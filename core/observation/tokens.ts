import { allInstances } from './all-instances.ts';
import { dayOf } from '../usage/day-totals.ts';
import { present } from '../untrusted/present.ts';
import type { BriefInstance } from '../shapes/instance.ts';
import type { DayUse, EndedProcess } from '../shapes/ended-process.ts';
import type { ObservationStatus } from '../shapes/observation.ts';

const NONE: DayUse = { tokens: 0, costUsd: 0 };

type EndedProcesses = Pick<ObservationStatus, 'departedToday'>;
type Users = EndedProcesses & Pick<ObservationStatus, 'instances' | 'unlisted'>;

/** Usage of the whole agent on the UTC day of `at`, including ended instances. */
export function usedToday(status: Users, at: Date): DayUse {
  return sumOf([...allInstances(status).map((each) => useOf(each, at)), endedOn(status, at)]);
}

/** Usage today without this instance, but including ended instances and earlier processes of this instance. */
export function othersToday(status: Users, instance: string, at: Date): DayUse {
  const others = allInstances(status).filter(({ name }) => name !== instance);
  return sumOf([...others.map((each) => useOf(each, at)), endedOn(status, at)]);
}

/** The status after instances have ended. */
export function withEnded(
  status: ObservationStatus,
  gone: readonly BriefInstance[],
  at: Date,
): ObservationStatus {
  const rows = gone
    .map((instance) => ({ instance, use: useOf(instance, at) }))
    .filter(({ use }) => use.tokens > 0 || use.costUsd > 0)
    .map(({ instance: { name, uid, startedAt }, use }) => ({ name, startedAt, ...use, ...present({ uid }) }));
  return withUse(status, rows, at, [...endedOn(status, at).instances, ...rows]);
}

type Process = Pick<EndedProcess, 'name' | 'uid'> & { startedAt: string | null };

const isOf =
  ({ name, uid, startedAt }: Process) =>
  (row: EndedProcess): boolean =>
    row.name === name &&
    row.uid === uid &&
    (startedAt === null || Date.parse(row.startedAt) === Date.parse(startedAt));

/**
 * Whether an ended process already counts with a higher total. Totals only grow, so the report with this total is older than
 * the last counted report, for example because another replica delayed it.
 */
export function hasLeftMore(
  status: EndedProcesses,
  process: Process,
  { tokens, at }: { tokens: number; at: Date },
): boolean {
  return endedOn(status, at).instances.some((row) => isOf(process)(row) && row.tokens > tokens);
}

/**
 * The status without the use of an ended process that reports its total again. The report is a late last heartbeat of a
 * deleted pod, or the pod still exists.
 * @param process `startedAt` is null if the sender does not report it; then all processes with its name and UID match
 */
export function withReturned(status: ObservationStatus, process: Process, at: Date): ObservationStatus {
  const rows = endedOn(status, at).instances;
  const back = rows.filter(isOf(process));
  const uses = back.map(({ tokens, costUsd }) => ({ tokens: -tokens, costUsd: -costUsd }));
  const others = rows.filter((row) => !back.includes(row));
  return withUse(status, uses, at, others);
}

/** Number of ended processes to remember. Heartbeats are at most one minute late, so older processes are not needed. */
const MAX_ENDED = 150;

/** Whether another process can be remembered without dropping one. */
export function hasRoomForEnded(status: EndedProcesses, at: Date): boolean {
  return endedOn(status, at).instances.length < MAX_ENDED;
}

/** The status with further use in `departedToday`, by `rows` or by no instance. Totals of an earlier day are dropped. */
export function withUse(
  status: ObservationStatus,
  uses: readonly DayUse[],
  at: Date,
  rows: readonly EndedProcess[] = endedOn(status, at).instances,
): ObservationStatus {
  const { tokens, costUsd } = sumOf([endedOn(status, at), ...uses]);
  const { departedToday: _, ...kept } = status;
  if (rows.length === 0 && tokens === 0 && costUsd === 0) return kept;
  const instances = rows.slice(-MAX_ENDED);
  // Rounding errors of floating point subtraction can result in a tiny negative cost.
  const use = { tokens: Math.max(0, tokens), costUsd: Math.max(0, costUsd) };
  const remembered = instances.length > 0 ? { instances } : {};
  return { ...kept, departedToday: { day: dayOf(at), ...use, ...remembered } };
}

/** `departedToday`; empty if it is of another day. */
function endedOn({ departedToday }: EndedProcesses, at: Date): DayUse & { instances: EndedProcess[] } {
  return { ...NONE, instances: [], ...(departedToday?.day === dayOf(at) ? departedToday : {}) };
}

function useOf(instance: BriefInstance, at: Date): DayUse {
  return instance.day === dayOf(at) ? { tokens: instance.tokensToday, costUsd: instance.costTodayUsd } : NONE;
}

function sumOf(uses: readonly DayUse[]): DayUse {
  return {
    // A sender may report any number, and the API server rejects a status whose sum does not fit in 64 bits.
    tokens: Math.min(
      uses.reduce((sum, use) => sum + use.tokens, 0),
      Number.MAX_SAFE_INTEGER,
    ),
    costUsd: uses.reduce((sum, use) => sum + use.costUsd, 0),
  };
}
