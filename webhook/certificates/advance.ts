import { X509Certificate } from 'node:crypto';
import { crossSign, issueCa, issueLeaf, type KeyPair } from './issue.ts';
import { certificatesIn, type TlsState } from './tls-state.ts';

/** How long certificates live and wait, in days and milliseconds. */
export interface CertificateTiming {
  caDays: number;
  /** The next authority is made this long before the end of the present one. */
  caRenewDays: number;
  leafDays: number;
  leafRenewDays: number;
  /** How long a change of trust, or of leaves, is given to reach every API server and replica. */
  settleMs: number;
  /** A previous authority is trusted for this long at most where nobody sees that the present one is enough. */
  holdDays: number;
}

export const TIMING: CertificateTiming = {
  caDays: 3650,
  caRenewDays: 365,
  leafDays: 90,
  leafRenewDays: 30,
  settleMs: 120_000,
  holdDays: 30,
};

export interface Circumstances {
  now: Date;
  /** Names under which the webhook is reached. */
  hosts: readonly string[];
  /** The caBundle that the API server uses at the moment. */
  trusted: string;
  /** For how long it has been seen to use it, milliseconds. */
  trustedMs: number;
  /** For how long the shared leaf has been seen, milliseconds. */
  leafMs: number;
  /** Has a pod been injected, the API server trusting just this, by a leaf that is served now? true: nobody tries. */
  isProven: boolean;
  /** Certificates that are issued to others, and for how long each has been seen. */
  issued: readonly { hosts: readonly string[]; leaf: KeyPair | null; leafMs: number }[];
  timing: CertificateTiming;
}

export type Step = 'create-authority' | 'prepare-next' | 'promote-next' | 'issue-leaf' | 'retire-previous';

const DAY_MS = 86_400_000;
/** As many as one exchange has trusted at once. */
const MAX_PREVIOUS = 3;

/**
 * The one thing to do next; null: all is well. First row that holds:
 *
 * | authority | next authority | leaf | step |
 * |---|---|---|---|
 * | none, or ended | | | create-authority |
 * | | trusted by the API server, settled | | promote-next |
 * | ends within caRenewDays, no previous one | none | | prepare-next |
 * | | | none, of another authority or chain, for other hosts, ends within leafRenewDays | issue-leaf |
 * | a previous one is still trusted | | settled, like those issued to others; proven, or held for holdDays | retire-previous |
 */
export function nextStep(state: TlsState, circumstances: Circumstances): Step | null {
  const { now, hosts, trusted, trustedMs, leafMs, timing } = circumstances;
  const { authority, next, previous, leaf } = state;
  if (authority === null || remainingDays(authority.cert, now) <= 0) return 'create-authority';
  if (next !== null && trusted.includes(next.cert) && trustedMs >= timing.settleMs) return 'promote-next';
  const isOld = remainingDays(authority.cert, now) <= timing.caRenewDays;
  if (next === null && previous === null && isOld) return 'prepare-next';
  if (!isGoodLeaf(leaf, state, { now, hosts, timing })) return 'issue-leaf';
  const isSettled = leafMs >= timing.settleMs && areOthersSettled(state, circumstances);
  if (previous !== null && isSettled && (circumstances.isProven || isHeldEnough(state, circumstances)))
    return 'retire-previous';
  return null;
}

/**
 * Nothing else waits for the end of a previous authority, so it may take its time; without an end the next exchange, years
 * later, would not begin.
 */
function isHeldEnough({ authority, previous }: TlsState, { now, timing }: Circumstances): boolean {
  if (authority === null || previous === null) return false;
  const heldMs = now.getTime() - new X509Certificate(authority.cert).validFromDate.getTime();
  return heldMs >= timing.holdDays * DAY_MS || livingCertificates(previous, now) === null;
}

/** A control plane whose certificate could not be renewed is still to be believed by a pod that is injected now. */
function areOthersSettled(state: TlsState, circumstances: Circumstances): boolean {
  const { issued, now, timing } = circumstances;
  return issued.every(
    ({ hosts, leaf, leafMs }) => leafMs >= timing.settleMs && isGoodLeaf(leaf, state, { now, hosts, timing }),
  );
}

/** Does the leaf serve `hosts` under the state's authority, with its whole chain, for long enough? */
export function isGoodLeaf(
  leaf: KeyPair | null,
  state: TlsState,
  { now, hosts, timing }: Pick<Circumstances, 'now' | 'hosts' | 'timing'>,
): boolean {
  if (leaf === null || state.authority === null) return false;
  const certificate = new X509Certificate(leaf.cert);
  const authority = new X509Certificate(state.authority.cert);
  // Of an authority that ends soon none can be had that lasts longer.
  const isLongest = certificate.validToDate >= authority.validToDate && remainingDays(leaf.cert, now) > 0;
  return (
    certificate.verify(authority.publicKey) &&
    leaf.cert === certificate.toString() + usableCross(state, now) &&
    (isLongest || remainingDays(leaf.cert, now) > timing.leafRenewDays) &&
    hosts.every((host) => certificate.subjectAltName?.split(/, /).some((name) => name.endsWith(`:${host}`)))
  );
}

/** A leaf for `hosts` with the chain that old sidecars need. */
export async function newLeaf(
  state: TlsState,
  { now, hosts, timing }: Pick<Circumstances, 'now' | 'hosts' | 'timing'>,
): Promise<KeyPair> {
  if (state.authority === null) throw new Error('there is no authority to issue a certificate');
  const { cert, key } = await issueLeaf(state.authority, hosts, { now, days: timing.leafDays });
  return { cert: cert + usableCross(state, now), key };
}

/** Every step that can be taken now, in order. Returns the state itself when there is none. */
export async function advance(
  state: TlsState,
  circumstances: Circumstances,
): Promise<{ state: TlsState; steps: Step[] }> {
  const steps: Step[] = [];
  const { leaf } = state;
  const next = (): Step | null =>
    nextStep(state, state.leaf === leaf ? circumstances : { ...circumstances, leafMs: 0 });
  for (let step = next(); step; step = next()) {
    if (steps.includes(step))
      throw new Error(`certificates do not settle: ${step} follows ${steps.join(', ')}`);
    steps.push(step);
    state = await take(step, state, circumstances);
  }
  return { state, steps };
}

async function take(step: Step, state: TlsState, circumstances: Circumstances): Promise<TlsState> {
  const { now, timing, trusted } = circumstances;
  const { authority, next } = state;
  switch (step) {
    case 'create-authority':
      return {
        authority: await issueCa({ now, days: timing.caDays }),
        next: null,
        // Its leaves are still served by the other replicas, where the Secret was lost while they ran.
        previous: livingCertificates(trusted, now),
        cross: null,
        leaf: null,
      };
    case 'prepare-next':
      return { ...state, next: await issueCa({ now, days: timing.caDays }) };
    case 'promote-next':
      if (authority === null || next === null) throw new Error('promote-next needs two authorities');
      return {
        authority: next,
        next: null,
        previous: authority.cert,
        cross: await crossSign(next, authority, now),
        leaf: null,
      };
    case 'issue-leaf':
      return { ...state, leaf: await newLeaf(state, circumstances) };
    case 'retire-previous':
      return { ...state, previous: null };
  }
}

/** What of a PEM bundle has not ended, three certificates at most; null: nothing. */
function livingCertificates(bundle: string, now: Date): string | null {
  const living = certificatesIn(bundle).filter((cert) => remainingDays(cert, now) > 0);
  return living.length === 0 ? null : living.slice(0, MAX_PREVIOUS).join('');
}

function usableCross({ cross }: TlsState, now: Date): string {
  return cross !== null && remainingDays(cross, now) > 0 ? cross : '';
}

function remainingDays(cert: string, now: Date): number {
  return (new X509Certificate(cert).validToDate.getTime() - now.getTime()) / DAY_MS;
}
