import type { AnnotationKind } from '../core/injection/annotation-kinds.ts';
import {
  DEFAULTED,
  PASSED,
  type DefaultedRow,
  type DefaultVariables,
  type SidecarVariables,
} from '../core/injection/annotations.ts';
import { optional, type EnvField, type Summaries } from './env.ts';

type EnvFields<T> = { [K in keyof T]: EnvField<T[K]> };

/** A variable with the values of an annotation. */
export const like = <T>(kind: AnnotationKind<T>, fallback: T): EnvField<T> => ({
  wanted: `${kind.allowed} (default ${String(fallback)})`,
  parse: (raw = String(fallback)) => kind.read(raw),
});

/** An entry for each annotation with a chart default and a variable of this kind. */
function byVariable<T>(
  kind: 'variable' | 'sidecarVariable',
  entryOf: (row: DefaultedRow) => T,
): Record<string, T> {
  const entries: Record<string, T> = {};
  for (const [, row] of DEFAULTED) {
    const { [kind]: name } = row.chart;
    if (name !== undefined) entries[name] = entryOf(row);
  }
  return entries;
}

const fieldOf = (row: DefaultedRow): EnvField<unknown> => like(row, row.chart.default);

/** The variables of the injector and the operator. */
export const DEFAULT_FIELDS = byVariable('variable', fieldOf) as EnvFields<DefaultVariables>;
export const DEFAULT_SUMMARIES = byVariable(
  'variable',
  ({ name, summary }) => `${summary} The default of the annotation \`${name}\`.`,
) as Summaries<DefaultVariables>;

/** An entry for each annotation without a chart default that the sidecar reads. */
const passed = <T>(entryOf: (row: (typeof PASSED)[number]['row']) => T): Record<string, T> =>
  Object.fromEntries(PASSED.map(({ variable, row }) => [variable, entryOf(row)]));

const optionalOf = (kind: AnnotationKind<unknown>): EnvField<unknown> =>
  optional(kind.allowed, (raw) => {
    const result = kind.read(raw);
    return result.ok ? result.value : undefined;
  });

/** The variables of the sidecar that the injector sets. */
export const SIDECAR_VALUE_FIELDS = {
  ...byVariable('sidecarVariable', fieldOf),
  ...passed(optionalOf),
} as EnvFields<SidecarVariables>;

const summaryOf = ({ name, summary }: { name: string; summary: string }): string =>
  `${summary} The injector sets the value of the annotation \`${name}\`.`;

export const SIDECAR_VALUE_SUMMARIES = {
  ...byVariable('sidecarVariable', summaryOf),
  ...passed(summaryOf),
} as Summaries<SidecarVariables>;
