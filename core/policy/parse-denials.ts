import type { PolicyAnswer } from './engine.ts';

/** An engine with rules of its own may say much; what it says ends up in headers, logs and reports. */
const MAX_REASONS = 100;
const MAX_LENGTH = 200;

/** Reads `{result: [<denial reason>, ...]}`. No result is no denial, but says that the rules are not there. */
export function parseDenials(body: string): PolicyAnswer {
  const document = parseJson(body);
  if (typeof document !== 'object' || document === null)
    return { state: 'unreachable', reason: 'the answer is not a JSON object' };
  const result = (document as { result?: unknown }).result;
  if (result === undefined) return { state: 'not-loaded' };
  if (!Array.isArray(result) || !result.every((reason) => typeof reason === 'string'))
    return { state: 'unreachable', reason: 'the result is not a list of denial reasons' };
  const reasons = [...new Set(result.map((reason) => reason.slice(0, MAX_LENGTH)))].sort();
  return { state: 'answered', denials: reasons.slice(0, MAX_REASONS) };
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
