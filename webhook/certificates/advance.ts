import { X509Certificate } from 'node:crypto';
import { crossSign, issueCa, issueLeaf } from './issue.ts';
import type { KeyPair } from '../../runtime/http-listener.ts';
import { certificatesIn, type TlsState } from './tls-state.ts';

/** Lifetimes and waiting times of certificates, in days and milliseconds. */
export interface CertificateTiming {
  caDays: number;
  /** The next CA is created this long before the current CA expires. */
  caRenewDays: number;
  leafDays: number;
  leafRenewDays: number;
  /** Time for a changed trust bundle or leaf to reach every API server and replica. */
  settleMs: number;
  /** Maximum time for which a previous CA is trusted although the current CA may not be sufficient. */
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
  /** Host names of the webhook. */
  hosts: readonly string[];
  /** The caBundle that the API server currently uses. */
  trusted: string;
  /** Time since the caBundle was last observed to change, milliseconds. */
  trustedMs: number;
  /** Time since the shared leaf was last observed to change, milliseconds. */
  leafMs: number;
  /** Whether a pod was injected with exactly this caBundle and the current leaf; also true if no canary tests this. */
  isCurrentCaSufficient: boolean;
  /** Certificates issued to other processes, and the time since each was last observed to change. */
  issued: readonly { hosts: readonly string[]; leaf: KeyPair | null; leafMs: number }[];
  timing: CertificateTiming;
}

export type Step = 'create-ca' | 'prepare-next' | 'promote-next' | 'issue-leaf' | 'retire-previous';

const DAY_MS = 86_400_000;
/** The number of CAs that are trusted at the same time during one rotation. */
const MAX_PREVIOUS = 3;

/**
 * The next step; null: nothing to do. The first matching row applies:
 *
 * | CA | next CA | leaf | step |
 * |---|---|---|---|
 * | none, or expired | | | create-ca |
 * | | trusted by the API server, settled | | promote-next |
 * | expires within caRenewDays, no previous CA | none | | prepare-next |
 * | | | none, of another CA or chain, for other hosts, expires within leafRenewDays | issue-leaf |
 * | a previous CA is still trusted | | all leaves settled; current CA sufficient, or previous CA held for holdDays | retire-previous |
 */
export function nextStep(state: TlsState, circumstances: Circumstances): Step | null {
  const { now, hosts, trusted, trustedMs, leafMs, timing } = circumstances;
  const { ca, nextCa, previousCa, leaf } = state;
  if (ca === null || remainingDays(ca.cert, now) <= 0) return 'create-ca';
  if (nextCa !== null && trusted.includes(nextCa.cert) && trustedMs >= timing.settleMs) return 'promote-next';
  const isOld = remainingDays(ca.cert, now) <= timing.caRenewDays;
  if (nextCa === null && previousCa === null && isOld) return 'prepare-next';
  if (!isGoodLeaf(leaf, state, { now, hosts, timing })) return 'issue-leaf';
  const isSettled = leafMs >= timing.settleMs && areOthersSettled(state, circumstances);
  if (
    previousCa !== null &&
    isSettled &&
    (circumstances.isCurrentCaSufficient || isHoldOver(state, circumstances))
  )
    return 'retire-previous';
  return null;
}

/**
 * No other step depends on the removal of the previous CA, so the limit can be long. Without a limit, the next rotation,
 * years later, would not start.
 */
function isHoldOver({ ca, previousCa }: TlsState, { now, timing }: Circumstances): boolean {
  if (ca === null || previousCa === null) return false;
  const heldMs = now.getTime() - new X509Certificate(ca.cert).validFromDate.getTime();
  return heldMs >= timing.holdDays * DAY_MS || validCertificates(previousCa, now) === null;
}

/** A pod that is injected now must also trust a control plane whose certificate could not be renewed. */
function areOthersSettled(state: TlsState, circumstances: Circumstances): boolean {
  const { issued, now, timing } = circumstances;
  return issued.every(
    ({ hosts, leaf, leafMs }) => leafMs >= timing.settleMs && isGoodLeaf(leaf, state, { now, hosts, timing }),
  );
}

/** Whether the leaf is valid for `hosts`, signed by the state's CA, has its full chain, and does not need renewal. */
export function isGoodLeaf(
  leaf: KeyPair | null,
  state: TlsState,
  { now, hosts, timing }: Pick<Circumstances, 'now' | 'hosts' | 'timing'>,
): boolean {
  if (leaf === null || state.ca === null) return false;
  const certificate = new X509Certificate(leaf.cert);
  const caCertificate = new X509Certificate(state.ca.cert);
  // A leaf cannot outlive its CA, so a leaf that expires with its CA cannot be renewed for longer.
  const isLongest = certificate.validToDate >= caCertificate.validToDate && remainingDays(leaf.cert, now) > 0;
  return (
    certificate.verify(caCertificate.publicKey) &&
    leaf.cert === certificate.toString() + usableCross(state, now) &&
    (isLongest || remainingDays(leaf.cert, now) > timing.leafRenewDays) &&
    hosts.every((host) => certificate.subjectAltName?.split(/, /).some((name) => name.endsWith(`:${host}`)))
  );
}

/** Issues a leaf for `hosts` with the chain that older sidecars need. */
export async function newLeaf(
  state: TlsState,
  { now, hosts, timing }: Pick<Circumstances, 'now' | 'hosts' | 'timing'>,
): Promise<KeyPair> {
  if (state.ca === null) throw new Error('no CA exists to issue a certificate');
  const { cert, key } = await issueLeaf(state.ca, hosts, { now, days: timing.leafDays });
  return { cert: cert + usableCross(state, now), key };
}

/** Applies all steps that are possible now, in order. Returns the same state object when there is none. */
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
      throw new Error(`certificate steps do not settle: ${step} repeated after ${steps.join(', ')}`);
    steps.push(step);
    state = await applyStep(step, state, circumstances);
  }
  return { state, steps };
}

async function applyStep(step: Step, state: TlsState, circumstances: Circumstances): Promise<TlsState> {
  const { now, timing, trusted } = circumstances;
  const { ca, nextCa } = state;
  switch (step) {
    case 'create-ca':
      return {
        ca: await issueCa({ now, days: timing.caDays }),
        nextCa: null,
        // If the Secret was lost while other replicas run, these replicas still serve leaves of the lost CA.
        previousCa: validCertificates(trusted, now),
        cross: null,
        leaf: null,
      };
    case 'prepare-next':
      return { ...state, nextCa: await issueCa({ now, days: timing.caDays }) };
    case 'promote-next':
      if (ca === null || nextCa === null) throw new Error('promote-next needs two CAs');
      return {
        ca: nextCa,
        nextCa: null,
        previousCa: ca.cert,
        cross: await crossSign(nextCa, ca, now),
        leaf: null,
      };
    case 'issue-leaf':
      return { ...state, leaf: await newLeaf(state, circumstances) };
    case 'retire-previous':
      return { ...state, previousCa: null };
  }
}

/** The unexpired certificates of a PEM bundle, at most three; null: none. */
function validCertificates(bundle: string, now: Date): string | null {
  const valid = certificatesIn(bundle).filter((cert) => remainingDays(cert, now) > 0);
  return valid.length === 0 ? null : valid.slice(0, MAX_PREVIOUS).join('');
}

function usableCross({ cross }: TlsState, now: Date): string {
  return cross !== null && remainingDays(cross, now) > 0 ? cross : '';
}

function remainingDays(cert: string, now: Date): number {
  return (new X509Certificate(cert).validToDate.getTime() - now.getTime()) / DAY_MS;
}
