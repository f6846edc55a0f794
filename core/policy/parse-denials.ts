import type { PolicyAnswer } from './engine.ts';
import { jsonOf } from '../untrusted/fields.ts';

/** Bounds for an engine with custom rules, because denial reasons are copied into headers, logs and reports. */
const MAX_REASONS = 100;
const MAX_LENGTH = 200;

/** Parses `{result: [<denial reason>, ...]}`. An absent result means that the rules are not loaded. */
export function parseDenials(body: string): PolicyAnswer {
  const document = jsonOf(body);
  if (typeof document !== 'object' || document === null)
    return { state: 'unreachable', reason: 'the response is not a JSON object' };
  const result = (document as { result?: unknown }).result;
  if (result === undefined) return { state: 'not-loaded' };
  if (!Array.isArray(result) || !result.every((reason) => typeof reason === 'string'))
    return { state: 'unreachable', reason: 'the result is not a list of denial reasons' };
  const reasons = [...new Set(result.map((reason) => reason.slice(0, MAX_LENGTH)))].sort();
  return { state: 'answered', denials: reasons.slice(0, MAX_REASONS) };
}
