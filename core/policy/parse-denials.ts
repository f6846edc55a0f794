import { RESULT_INVALID, type PolicyResult } from './engine.ts';
import { cut, isRecord, jsonOf } from '../untrusted/fields.ts';

/** Bounds for an engine with custom rules, because denial reasons are copied into headers, logs and reports. */
const MAX_REASONS = 100;
const MAX_LENGTH = 200;

/**
 * Parses `{result: [<denial reason>, ...]}`. An absent result means that the rules are not loaded. Custom rules return other
 * forms, such as `[{"msg": "no"}]` or `true`: every result that is not empty denies.
 */
export function parseDenials(body: string): PolicyResult {
  const document = jsonOf(body);
  if (!isRecord(document)) return { state: 'unreachable', reason: 'the response is not a JSON object' };
  const { result } = document;
  if (result === undefined) return { state: 'not-loaded' };
  const elements: unknown[] = Array.isArray(result) ? result : isEmpty(result) ? [] : [result];
  const invalid = elements.find((element) => reasonIn(element) === null);
  const reasons = new Set(elements.map((element) => reasonIn(element) ?? RESULT_INVALID));
  const denials = [...reasons].sort().slice(0, MAX_REASONS);
  if (invalid === undefined) return { state: 'answered', denials };
  const what = Array.isArray(result) ? 'an element of the result' : 'the result';
  return { state: 'answered', denials, problem: `${what} is ${formOf(invalid)}` };
}

function isEmpty(result: unknown): boolean {
  if (isRecord(result)) return Object.keys(result).length === 0;
  return result === null || result === false || result === '';
}

/** The reason in an element; null: it contains none. */
function reasonIn(element: unknown): string | null {
  const candidates = isRecord(element) ? [element['msg'], element['reason']] : [element];
  const reason = candidates.find((each) => typeof each === 'string' && each.trim() !== '');
  return typeof reason === 'string' ? cut(reason, MAX_LENGTH) : null;
}

function formOf(element: unknown): string {
  if (isRecord(element)) return 'an object without a text in msg or reason';
  if (typeof element === 'string') return 'an empty text';
  return Array.isArray(element) ? 'a list' : element === null ? 'null' : `a ${typeof element}`;
}
