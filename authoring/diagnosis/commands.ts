import type { ReleaseFacts } from './facts.ts';

/**
 * The command that repeats an upgrade with the release's values and the chart's defaults (Helm 3.14 or later). With
 * `--reuse-values`, the defaults of the previous chart version would be kept, which this chart may reject.
 */
export function upgradeCommand({ name, namespace }: ReleaseFacts, ...flags: string[]): string {
  return ['helm upgrade', name, '<chart> -n', namespace, '--reset-then-reuse-values', ...flags].join(' ');
}

/** The command that shows the log of a process of the release: `control-plane`, `operator` or `webhook`. */
export function logsCommand(namespace: string, part: string): string {
  return `kubectl logs -n ${namespace} -l app.kubernetes.io/component=${part} --tail=50`;
}
