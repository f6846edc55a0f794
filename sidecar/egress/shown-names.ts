import { distinct } from '../../core/egress/wires/members.ts';
import { cut } from '../../core/untrusted/fields.ts';

/** UTF-16 units of a name, and names of a list, that the log keeps. */
const MAX_LENGTH = 200;
const MAX_NAMES = 200;

/** A name as the log shows it. Policies get the whole name: a cut name could equal a declared one. */
export const shownName = (name: string | null): string | null =>
  name === null ? null : cut(name.toWellFormed(), MAX_LENGTH);

const NONE: readonly string[] = [];

/** The known names, each once. */
export function namesIn(names: readonly (string | null)[]): readonly string[] {
  if (names.length === 0) return NONE;
  if (names.length <= MAX_NAMES) return distinct(names.map(shownName));
  // Agents choose the length of the list.
  const shown = new Set<string>();
  for (const name of names) {
    if (shown.size >= MAX_NAMES) break;
    const text = shownName(name);
    if (text !== null) shown.add(text);
  }
  return [...shown];
}
