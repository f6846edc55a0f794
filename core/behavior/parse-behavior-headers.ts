import { cut, detached } from '../untrusted/fields.ts';
import { withoutBlanks } from '../untrusted/http-blanks.ts';
import type { Behavior } from '../shapes/audit-entry.ts';
import { MAX_NAME_LENGTH, nameFromHeader } from '../untrusted/reported-name.ts';

/** Response headers that report behavior. The proxy reads and removes them. */
export const GUARDRAILS_HEADER = 'x-platform-guardrails-invoked';
export const TOOLS_HEADER = 'x-platform-tools-called';
export const CONFIRMED_HEADER = 'x-platform-user-confirmed';

/**
 * Maximum number of names in one header; further names are dropped. A response head of 16 KiB cannot reach the limit. This
 * matters because a dropped name could be the one that the policy denies.
 */
const MAX_NAMES = 10_000;

/**
 * Reads the behavioral headers of a response head or of its trailers.
 * @param headers by lower-case name; repeated headers joined by commas
 */
export function parseBehaviorHeaders(headers: ReadonlyMap<string, string>): Behavior {
  const behavior: Behavior = {};
  const guardrails = headers.get(GUARDRAILS_HEADER);
  const tools = headers.get(TOOLS_HEADER);
  const confirmed = headers.get(CONFIRMED_HEADER);
  if (guardrails !== undefined) behavior.guardrailsInvoked = knownNamesIn(guardrails);
  if (tools !== undefined) behavior.toolsCalled = knownNamesIn(tools);
  const userConfirmed = confirmed === undefined ? null : confirmationIn(confirmed);
  if (userConfirmed !== null) behavior.userConfirmed = userConfirmed;
  return behavior;
}

/** Any other value, or both values, counts as not reported: null. It must count neither as a confirmation nor as a refusal. */
function confirmationIn(value: string): boolean | null {
  if (value === 'true' || value === 'false') return value === 'true';
  const words = new Set(value.split(',').map((each) => withoutBlanks(each).toLowerCase()));
  const [word] = words;
  return words.size === 1 && (word === 'true' || word === 'false') ? word === 'true' : null;
}

/**
 * The names of recent header values. Agents send the same few values with every response. Entries share these lists, which
 * nothing changes in place.
 */
const knownNames = new Map<string, readonly string[]>();
const MAX_KNOWN = 100;
/** Longer values are not remembered, so that all of them need less than 1 MB, even with names of one letter. */
const MAX_KNOWN_LENGTH = 500;

function knownNamesIn(value: string): readonly string[] {
  const known = knownNames.get(value);
  if (known !== undefined) return known;
  const names = namesIn(value);
  if (value.length > MAX_KNOWN_LENGTH) return names;
  if (knownNames.size >= MAX_KNOWN) knownNames.clear();
  // A copy, because the value is a slice of the whole head.
  knownNames.set(detached(value), names);
  return names;
}

/** Whether at least one behavioral header is present, with any value. */
export function reportsBehavior(headers: ReadonlyMap<string, string>): boolean {
  return (
    headers.size > 0 &&
    (headers.has(GUARDRAILS_HEADER) || headers.has(TOOLS_HEADER) || headers.has(CONFIRMED_HEADER))
  );
}

/** Whether any behavior was reported. An empty list counts as reported; tools that only spans report do not count. */
export function hasBehavior(behavior: Behavior & { behaviorFrom?: 'spans' }): boolean {
  return (
    behavior.behaviorFrom === undefined &&
    (behavior.guardrailsInvoked !== undefined ||
      behavior.toolsCalled !== undefined ||
      behavior.userConfirmed !== undefined)
  );
}

/** An empty header value is a fact: nothing was invoked. The names do not keep the header in memory. */
function namesIn(value: string): string[] {
  const names = new Set<string>();
  for (const each of value.split(',')) {
    const name = cut(nameFromHeader(withoutBlanks(each)), MAX_NAME_LENGTH);
    if (name !== '' && names.size < MAX_NAMES) names.add(detached(name));
  }
  return [...names];
}
