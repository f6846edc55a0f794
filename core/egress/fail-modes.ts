/**
 * What happens with a call of a known route that the policy engine cannot evaluate, or whose body cannot be read. `open`: it passes.
 * `closed`: it is denied.
 */
export type FailMode = 'open' | 'closed';

/** EGRESS_FAIL_MODE: the mode of all lanes, and of single lanes by id. */
export interface FailModes {
  all: FailMode;
  lanes: ReadonlyMap<string, FailMode>;
}

export const FAIL_OPEN: FailModes = { all: 'open', lanes: new Map() };

/** The violation of a call that is denied because the engine did not evaluate it. */
export const POLICY_UNAVAILABLE = 'policy_unavailable';
/** The violation of a call whose body cannot be read. */
export const BODY_UNREAD = 'body_unread';

/** A regular expression of a value, for pod annotations and the guard. Lanes are not compared with the lanes of the pod. */
const ENTRY = '([a-z]+(:[A-Za-z0-9._-]{1,63})?=)?(open|closed)';
export const FAIL_MODE_PATTERN = `^${ENTRY}(,${ENTRY})*$`;
const VALID = new RegExp(FAIL_MODE_PATTERN);

/** Reads comma-separated `open`, `closed`, `lane=open` or `lane=closed`; null: invalid. Of two modes, `closed` applies. */
export function parseFailModes(text: string): FailModes | null {
  if (!VALID.test(text)) return null;
  const lanes = new Map<string, FailMode>();
  for (const entry of text.split(',')) {
    const [lane = '', mode] = entry.includes('=') ? entry.split('=') : ['', entry];
    if (mode === 'closed' || !lanes.has(lane)) lanes.set(lane, mode === 'closed' ? 'closed' : 'open');
  }
  const all = lanes.get('') ?? 'open';
  lanes.delete('');
  return { all, lanes };
}

export function failModeOf({ all, lanes }: FailModes, lane: string): FailMode {
  return lanes.get(lane) ?? all;
}
