import type { ReleaseFacts } from './facts.ts';

/**
 * The command that repeats a release, with its values and the defaults of the chart (Helm 3.14 and later). With
 * `--reuse-values` the defaults of the former chart would stay, which this chart may refuse.
 */
export function upgradeCommand({ name, namespace }: ReleaseFacts, ...flags: string[]): string {
  return ['helm upgrade', name, '<chart> -n', namespace, '--reset-then-reuse-values', ...flags].join(' ');
}
