import { cut } from '../untrusted/fields.ts';
import { withoutBlanks } from '../untrusted/http-blanks.ts';
import type { Behavior } from './audit-entry.ts';
import { MAX_NAME_LENGTH, nameFromHeader } from './reported-name.ts';

/** The response headers by which an agent reports behavior; read and removed by the proxy. */
export const GUARDRAILS_HEADER = 'x-platform-guardrails-invoked';
export const TOOLS_HEADER = 'x-platform-tools-called';
export const CONFIRMED_HEADER = 'x-platform-user-confirmed';

/**
 * Bound of one header's list: names beyond it are dropped. A head of 16 KiB cannot hold as many: a name that is dropped
 * could be the one that is denied.
 */
const MAX_NAMES = 10_000;

/**
 * Reads the behavioral headers of a response head or of its trailers.
 * @param headers by lower-case name; one that came several times joined by commas
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
  // Anything else than one of the two words, however often, is not reported: it must not pass for a confirmation, nor for a refusal.
  const [word] = confirmed;
  if (confirmed.size === 1 && (word === 'true' || word === 'false')) behavior.userConfirmed = word === 'true';
  return behavior;
}

/** Whether one of the behavioral headers is there, whatever it says. */
export function reportsBehavior(headers: ReadonlyMap<string, string>): boolean {
  return (
    headers.size > 0 &&
    (headers.has(GUARDRAILS_HEADER) || headers.has(TOOLS_HEADER) || headers.has(CONFIRMED_HEADER))
  );
}

/** Whether anything was reported; an empty list is something. */
export function hasBehavior(behavior: Behavior): boolean {
  return (
    behavior.guardrailsInvoked !== undefined ||
    behavior.toolsCalled !== undefined ||
    behavior.userConfirmed !== undefined
  );
}

/** A header that is present with an empty value is a fact: nothing was invoked. */
function namesIn(value: string): string[] {
  const names = new Set<string>();
  for (const each of value.split(',')) {
    const name = cut(nameFromHeader(withoutBlanks(each)), MAX_NAME_LENGTH);
    if (name !== '' && names.size < MAX_NAMES) names.add(name);
  }
  return [...names];
}
