import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { decide, type SkipCode } from '../../core/injection/decide.ts';
import { inject } from '../../core/injection/inject.ts';
import type { Pod } from '../../core/injection/pod.ts';
import type { Rejection } from '../../core/injection/rejections.ts';
import type { InjectionSettings } from '../../core/injection/settings.ts';
import { differenceBetween, withDifference, type Difference } from '../documents/object-difference.ts';
import { injectionSettings } from './pods.ts';

export const CASES_FOLDER = join(import.meta.dirname, '../../core/injection/cases');

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

/** The case whose file has the whole injected pod. The other files have the difference from its injection. */
export const WHOLE = 'bare-pod.yaml';

/** The pod with what the injection adds to the bare pod. */
function withBareInjection(before: Pod): object {
  const bare = parse(readFileSync(join(CASES_FOLDER, WHOLE), 'utf8')) as { before: Pod; after: Pod };
  return withDifference(before, differenceBetween(bare.before, bare.after, true)) as object;
}

/** A case as its file has it. */
type StoredCase = Omit<InjectionCase, 'after'> & { after?: Pod; differs?: Difference };

export function readCase(text: string): InjectionCase {
  const { differs, ...stored } = parse(text) as StoredCase;
  const after =
    differs === undefined ? stored.after : withDifference(withBareInjection(stored.before), differs);
  return { ...stored, ...(after === undefined ? {} : { after }) } as InjectionCase;
}

/** The content of the file of a case. */
export function storedCase(name: string, { after, ...rest }: InjectionCase): object {
  if (after === undefined) return rest;
  const { about, settings, before, ...others } = rest as StoredCase;
  const result =
    name === WHOLE ? { after } : { differs: differenceBetween(withBareInjection(before), after) };
  return { about, ...(settings && { settings }), before, ...result, ...others };
}

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
  const after = inject(before, decision, settings);
  return { after, ...(decision.warnings.length > 0 && { warnings: decision.warnings }) };
}
