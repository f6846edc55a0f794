import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { decide, type SkipCode } from '../core/injection/decide.ts';
import { inject } from '../core/injection/inject.ts';
import type { Pod } from '../core/injection/pod.ts';
import type { Rejection } from '../core/injection/rejections.ts';
import type { InjectionSettings } from '../core/injection/settings.ts';
import { injectionSettings } from './pods.ts';

export const CASES_FOLDER = join(import.meta.dirname, '../core/injection/cases');

/** Outcome for a pod. */
export type CaseOutcome =
  | { after: Pod; warnings?: string[]; skipped?: never; refused?: never }
  | { skipped: SkipCode; after?: never; refused?: never }
  | { refused: Rejection[]; after?: never };

/** One file: a created pod and its expected outcome. */
export type InjectionCase = {
  about: string;
  /** Differences of the installation from `injectionSettings()`. */
  settings?: Partial<InjectionSettings>;
  before: Pod;
} & CaseOutcome;

export const readCase = (text: string): InjectionCase => parse(text) as InjectionCase;

/** All cases by file name. */
export function injectionCases(): [name: string, InjectionCase][] {
  return readdirSync(CASES_FOLDER).map((name) => [
    name.replace(/\.yaml$/, ''),
    readCase(readFileSync(join(CASES_FOLDER, name), 'utf8')),
  ]);
}

/** The current outcome of a case. */
export function outcomeOfCase({
  settings: overrides,
  before,
}: {
  settings?: Partial<InjectionSettings> | undefined;
  before: Pod;
}): CaseOutcome {
  const settings = injectionSettings(overrides);
  const decision = decide(before, settings);
  if (decision.action === 'skip') return { skipped: decision.code };
  if (decision.action === 'refuse') return { refused: decision.rejections };
  const after = inject(before, decision.plan, settings);
  return { after, ...(decision.warnings.length > 0 && { warnings: decision.warnings }) };
}
