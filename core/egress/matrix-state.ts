import type { VERDICTS } from '../shapes/values.ts';

/** null: cannot be known. */
export type Known = boolean | null;

export type MatrixState = (typeof VERDICTS)[number];

export interface Compared {
  declared: Known;
  reported: Known;
  observed: Known;
}

type By<T> = Readonly<Record<'true' | 'false' | 'null', T>>;

const UNKNOWN: By<MatrixState> = { true: 'unknown', false: 'unknown', null: 'unknown' };

/** By declared, reported and observed. What is not known contradicts nothing. */
const TABLE: By<By<By<MatrixState>>> = {
  true: {
    true: { true: 'match', false: 'misreported', null: 'match' },
    false: { true: 'unreported', false: 'never-seen', null: 'never-seen' },
    null: { true: 'match', false: 'never-seen', null: 'unknown' },
  },
  false: {
    true: { true: 'undeclared', false: 'undeclared', null: 'undeclared' },
    false: { true: 'undeclared', false: 'unknown', null: 'unknown' },
    null: { true: 'undeclared', false: 'unknown', null: 'unknown' },
  },
  null: { true: UNKNOWN, false: UNKNOWN, null: UNKNOWN },
};

export function stateOf({ declared, reported, observed }: Compared): MatrixState {
  return TABLE[`${declared}`][`${reported}`][`${observed}`];
}
