import type { ReleaseFacts } from './facts.ts';

/**
 * The command that repeats an upgrade with the release's values and the chart's defaults (Helm 3.14 or later). With
 * `--reuse-values`, the defaults of the previous chart version would be kept, which this chart may reject.
 */
export function upgradeCommand({ name, namespace }: ReleaseFacts, ...flags: string[]): string {
  return ['helm upgrade', name, '<chart> -n', namespace, '--reset-then-reuse-values', ...flags].join(' ');
}
