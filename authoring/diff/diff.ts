import type { Grade } from '../../core/shapes/values.ts';
import { gradeOf } from '../../core/shapes/grade.ts';
import { isLiteralSecret } from '../../core/manifest/literal-secrets.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { quoted } from '../../core/manifest/wording.ts';
import { changesBetween, type Change } from './changes.ts';
import { driftRuleOf, type DriftRule } from './drift-rules.ts';

/** Result of `platform diff --json`. */
export interface DiffReport {
  /** Names of the two manifests, as typed. */
  from: string;
  to: string;
  /** The first manifest is the baseline: always 100. */
  scoreFrom: 100;
  /** 0..100: 100 and the impact of every change. */
  scoreTo: number;
  gradeFrom: Grade;
  gradeTo: Grade;
  /** 0 or negative. */
  netScoreChange: number;
  /** Most severe first. */
  changes: Drift[];
}

/** One change with its weight. */
type Drift = Pick<Change, 'type' | 'property' | 'path'> &
  Pick<DriftRule, 'severity' | 'scoreImpact' | 'code'> & { description: string };

/** Compares two manifests; `from` and `to` are their names in the report. */
export function diffManifests(
  before: { name: string; manifest: Manifest },
  after: { name: string; manifest: Manifest },
): DiffReport {
  const changes = changesBetween(before.manifest, after.manifest).map(driftOf);
  // Changes of the same weight stay in the order of the later manifest, then of removed values.
  changes.sort((a, b) => a.scoreImpact - b.scoreImpact);
  const scoreTo = Math.max(
    0,
    changes.reduce((score, { scoreImpact }) => score + scoreImpact, 100),
  );
  return {
    from: before.name,
    to: after.name,
    scoreFrom: 100,
    scoreTo,
    gradeFrom: gradeOf(100),
    gradeTo: gradeOf(scoreTo),
    netScoreChange: scoreTo - 100,
    changes,
  };
}

function driftOf(change: Change): Drift {
  const { type, property, path } = change;
  const { code, severity, scoreImpact } = driftRuleOf(change);
  return { type, property, severity, scoreImpact, description: describe(change), code, path };
}

/** For example `spec.model.id changed from "gpt-4o" to "gpt-4o-mini"`; secrets in values are not shown. */
function describe({ type, property, from, to, path }: Change): string {
  const shown = (value: unknown): string => {
    if (isLiteralSecret(path, value)) return '[literal value]';
    return typeof value === 'string' ? quoted(value) : JSON.stringify(value);
  };
  if (type === 'changed') return `${property} changed from ${shown(from)} to ${shown(to)}`;
  const value = type === 'added' ? to : from;
  return typeof value === 'object' ? `${property} ${type}` : `${property} ${type}: ${shown(value)}`;
}
