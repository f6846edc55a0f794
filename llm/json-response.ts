import { isRecord, jsonOf } from '../core/untrusted/fields.ts';

type Outcome<T> = { ok: true; value: T } | { ok: false; reason: string };

/**
 * Reads the response of a model: the first JSON object of the text, also inside a code fence or between sentences, checked by `parse`.
 * Reasons quote nothing of the response.
 */
export function responseOf<T>(text: string, parse: (value: unknown) => Outcome<T>): Outcome<T> {
  const start = text.search(/\{\s*["}]/);
  if (start < 0) return { ok: false, reason: 'the response of the model has no JSON object' };
  const end = endOfObject(text, start);
  if (end === null)
    return { ok: false, reason: 'the JSON object in the response of the model is not complete' };
  const value = jsonOf(text.slice(start, end));
  if (!isRecord(value)) return { ok: false, reason: 'the response of the model is not valid JSON' };
  return parse(value);
}

/** Index after the brace that closes the object at `start`; null: the text ends before it. */
function endOfObject(text: string, start: number): number | null {
  let depth = 0;
  let isInString = false;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (isInString) {
      if (char === '\\') at++;
      else if (char === '"') isInString = false;
    } else if (char === '"') isInString = true;
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return at + 1;
  }
  return null;
}
