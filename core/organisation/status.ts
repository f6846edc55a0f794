import { MAX_BROKEN, type OrganisationFinding, type OrganisationStatus } from '../shapes/organisation.ts';
import { cut } from '../untrusted/fields.ts';
import type { Judgement } from './finding.ts';
import { denialsFirst } from './judge.ts';

/** Characters of a text in the status, which is stored in etcd. */
const MAX_STATUS_TEXT = 300;

/** A judgement with the limits of a status. */
export type CutJudgement = Pick<OrganisationStatus, 'broken' | 'brokenTotal' | 'notJudged'>;

export const cutJudgement = ({ findings, notJudged }: Judgement): CutJudgement => ({
  broken: findings.slice(0, MAX_BROKEN).map((finding) => ({
    ...finding,
    path: cut(finding.path, MAX_STATUS_TEXT),
    message: cut(finding.message, MAX_STATUS_TEXT),
  })),
  brokenTotal: findings.length,
  notJudged: notJudged.slice(0, MAX_BROKEN),
});

/** One judgement of several parts, such as the manifest and the observation. */
export const joinJudgements = (parts: readonly CutJudgement[]): CutJudgement => ({
  broken: denialsFirst(parts.flatMap(({ broken }) => broken)).slice(0, MAX_BROKEN),
  brokenTotal: parts.reduce((total, part) => total + part.brokenTotal, 0),
  notJudged: parts.flatMap(({ notJudged }) => notJudged).slice(0, MAX_BROKEN),
});

/** The judgement as part of a status. Returns `known` if nothing changed, so `judgedAt` changes only with the result. */
export function organisationStatusOf(
  judgement: CutJudgement,
  { manifestHash, known, at }: { manifestHash: string; known: OrganisationStatus | undefined; at: Date },
): OrganisationStatus {
  const time = `${at.toISOString().slice(0, 19)}Z`;
  const sinceOf = ({ policy, rule }: OrganisationFinding): string => {
    const found = known?.broken.find((each) => each.policy === policy && each.rule === rule);
    return found === undefined ? time : (found.since ?? known?.judgedAt ?? time);
  };
  const broken = judgement.broken.map((finding) => ({ ...finding, since: sinceOf(finding) }));
  const result = { manifestHash, ...judgement, broken };
  if (known !== undefined && textOf(known) === textOf(result)) return known;
  return { judgedAt: time, ...result };
}

/** For a comparison. A database may change the order of the members. */
const textOf = ({
  manifestHash,
  broken,
  brokenTotal,
  notJudged,
}: Omit<OrganisationStatus, 'judgedAt'>): string =>
  JSON.stringify([
    ...[manifestHash, brokenTotal],
    ...broken.map(({ policy, rule, severity, action, path, message }) => [
      ...[policy, rule, severity, action, path, message],
    ]),
    ...notJudged.map(({ policy, rule, reason }) => [policy, rule, reason]),
  ]);
