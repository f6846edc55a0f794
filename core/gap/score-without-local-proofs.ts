import type { Facts } from '../facts/facts.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { assess } from './assess.ts';
import type { GapReport } from '../shapes/gap.ts';

/** The gap score without local proofs. `gap`: the report of these facts, whose score is the result if no local proof counts. */
export function scoreWithoutLocalProofs(manifest: Manifest, facts: Facts, gap: GapReport): number {
  const proofs = facts.proofs.filter(({ origin }) => origin === 'control-plane');
  if (proofs.length === facts.proofs.length) return gap.score;
  return assess(manifest, { ...facts, proofs }).score;
}
