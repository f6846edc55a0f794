import type { ProofSubmission } from '../../core/shapes/proof.ts';
import type { FieldError } from '../../core/untrusted/fields.ts';

/** The fields of the form, as entered. */
export interface ProofDraft extends Record<keyof Omit<ProofSubmission, 'source' | 'boundTo'>, string> {
  ruleId: string;
  /** `YYYY-MM-DDTHH:mm` in the time zone of the browser; empty: the proof does not expire. */
  expiresAt: string;
}

export type ProofField = keyof ProofDraft;
/** Messages by field; `form`: a message that belongs to no field. */
export type ProofErrors = Partial<Record<ProofField | 'form', string>>;

export const EMPTY_DRAFT: ProofDraft = { ruleId: '', verifiedBy: '', method: '', expiresAt: '' };

const FIELDS: readonly ProofField[] = ['ruleId', 'verifiedBy', 'method', 'expiresAt'];

type Validated = { ok: true; ruleId: string; body: ProofSubmission } | { ok: false; errors: ProofErrors };

/** Characters of a text of a proof (core/evidence/parse-proof.ts, whose parsers are too large for the browser). */
const MAX_LENGTH = 2048;

/** Checks the fields with the rules of the API, which checks them again. */
export function validateDraft(draft: ProofDraft, now: Date): Validated {
  const { ruleId, verifiedBy, method, expiresAt } = draft;
  const found: Record<ProofField, string | null> = {
    ruleId: ruleId === '' ? 'must be selected' : null,
    verifiedBy: textError(verifiedBy),
    method: textError(method),
    expiresAt: timeError(expiresAt, now),
  };
  const errors: ProofErrors = Object.fromEntries(
    Object.entries(found).filter(([, message]) => message !== null),
  );
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  const expiry = expiresAt === '' ? {} : { expiresAt: new Date(expiresAt).toISOString() };
  return { ok: true, ruleId, body: { verifiedBy, method, ...expiry } };
}

function textError(value: string): string | null {
  if (value.trim() === '') return 'must not be empty';
  return value.length > MAX_LENGTH ? `must have at most ${MAX_LENGTH} characters` : null;
}

function timeError(value: string, now: Date): string | null {
  if (value === '') return null;
  const time = Date.parse(value);
  if (Number.isNaN(time)) return 'must be a date and a time';
  return time <= now.getTime() ? 'must not be in the past' : null;
}

/** The errors of a response by the field that they name. Other errors, or the detail if there is none, go to `form`. */
export function errorsOfResponse(response: { detail: string; errors: readonly FieldError[] }): ProofErrors {
  const { errors, detail } = response;
  if (errors.length === 0) return { form: detail };
  const others = errors.filter(({ path }) => !FIELDS.some((field) => field === path));
  const form = others.map(({ path, message }) => `${path} ${message}`.trim()).join('; ');
  return { ...errorsByField(errors), ...(form !== '' && { form }) };
}

/** The first error of each field. */
function errorsByField(errors: readonly FieldError[]): ProofErrors {
  const found: ProofErrors = {};
  for (const { path, message } of errors) {
    const field = FIELDS.find((each) => each === path);
    if (field !== undefined) found[field] ??= message;
  }
  return found;
}
