import type { StopEntry } from '../../core/shapes/agent-stop.ts';

/** The agents of a stop, as the API names them. */
export type StopTarget = Pick<StopEntry, 'agents' | 'namespaces'> & { namespace?: string };

/** Every agent of every namespace. The pattern states that nothing is left out. */
export const ALL_AGENTS: StopTarget = { namespaces: ['*'] };
/** What a person types to stop all agents. */
export const ALL_WORD = 'all';

export const DURATIONS = [
  { value: 'none', label: 'no end: until a person resumes' },
  { value: '1', label: '1 hour' },
  { value: '8', label: '8 hours' },
  { value: '24', label: '24 hours' },
  { value: 'date', label: 'until a date' },
] as const;

/** The fields of the form, as entered. */
export interface StopDraft {
  reason: string;
  /** A value of `DURATIONS`. */
  duration: string;
  /** `YYYY-MM-DDTHH:mm` in the time zone of the browser, for the duration `date`. */
  until: string;
  word: string;
}

/** Messages by field. */
export type StopErrors = Partial<Record<keyof StopDraft, string>>;

export const EMPTY_STOP: StopDraft = { reason: '', duration: 'none', until: '', word: '' };

/** Characters of a reason (core/shapes/agent-stop.ts, whose parsers are too large for the browser). */
const MAX_REASON = 500;
const HOUR_MS = 3_600_000;

/** Checks the fields with the rules of the API, which checks them again. `word`: to be typed. */
export function errorsOf(draft: StopDraft, now: Date, word?: string): StopErrors {
  const length = draft.reason.trim().length;
  return {
    ...(length === 0 && { reason: 'must not be empty' }),
    ...(length > MAX_REASON && { reason: `must have at most ${MAX_REASON} characters` }),
    ...(draft.duration === 'date' && dateErrors(draft.until, now)),
    ...(word !== undefined && draft.word !== word && { word: `must be ${word}` }),
  };
}

function dateErrors(until: string, now: Date): StopErrors {
  const time = Date.parse(until);
  if (Number.isNaN(time)) return { until: 'must be a date and a time' };
  return time <= now.getTime() ? { until: 'must not be in the past' } : {};
}

/** The members of the request that the fields have. */
export function membersOf(
  { reason, duration, until }: StopDraft,
  now: Date,
): Pick<StopEntry, 'reason' | 'until'> {
  if (duration === 'none') return { reason: reason.trim() };
  const end = duration === 'date' ? Date.parse(until) : now.getTime() + Number(duration) * HOUR_MS;
  return { reason: reason.trim(), until: new Date(end).toISOString() };
}
