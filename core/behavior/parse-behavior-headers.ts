import { cut, detached } from '../untrusted/fields.ts';
import { withoutBlanks } from '../untrusted/http-blanks.ts';
import type { Behavior } from './audit-entry.ts';
import { MAX_NAME_LENGTH, nameFromHeader } from './reported-name.ts';

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
  const confirmed = new Set(
    headers
      .get(CONFIRMED_HEADER)
      ?.split(',')
      .map((each) => withoutBlanks(each).toLowerCase()),
  );
  if (guardrails !== undefined) behavior.guardrailsInvoked = namesIn(guardrails);
  if (tools !== undefined) behavior.toolsCalled = namesIn(tools);
  // Any other value, or both values, counts as not reported. It must count neither as a confirmation nor as a refusal.
  const [word] = confirmed;
  if (confirmed.size === 1 && (word === 'true' || word === 'false')) behavior.userConfirmed = word === 'true';
  return behavior;
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
