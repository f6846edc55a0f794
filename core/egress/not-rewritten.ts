import type { NotRewrittenReason } from '../shapes/values.ts';
import type { NotRewritten } from '../shapes/egress.ts';

/** Why the injector did not send the clients of a variable to a lane. The reference pages are generated from this table. */
export const NOT_REWRITTEN_REASONS = {
  reference: 'the container has the variable from a ConfigMap, a Secret or another variable',
  envfrom: 'the container may have the variable from envFrom',
  absent: 'the container does not have the variable',
  azure: 'the agent uses Azure: its client would send the key for Azure to this variable',
  'other-upstream': 'another variable of the same lane has another upstream',
  set: 'the container sets this variable for a proxy itself',
} as const satisfies Record<NotRewrittenReason, string>;

/** The value of the sidecar's variable `EGRESS_NOT_REWRITTEN`, such as `openai=OPENAI_BASE_URL:reference,connect=NO_PROXY:set`. */
export const notRewrittenText = (list: readonly NotRewritten[]): string =>
  list.map(({ lane, variable, reason }) => `${lane}=${variable}:${reason}`).join(',');

const ENTRY = /^(?<lane>[a-z0-9:-]+)=(?<variable>\w+):(?<reason>[a-z-]+)$/;

/** The entries of `EGRESS_NOT_REWRITTEN`; null: the text is invalid. */
export function parseNotRewritten(text: string): NotRewritten[] | null {
  const list = text.split(',').map((entry) => {
    const { lane = '', variable = '', reason = '' } = ENTRY.exec(entry)?.groups ?? {};
    return isNotRewrittenReason(reason) ? { lane, variable, reason } : null;
  });
  return list.every((entry) => entry !== null) ? list : null;
}

export const isNotRewrittenReason = (text: string): text is NotRewrittenReason =>
  Object.hasOwn(NOT_REWRITTEN_REASONS, text);
