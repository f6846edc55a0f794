import { printable } from '../rendered.ts';
import { plural, table, type Cell, type Paint } from '../table.ts';
import { progressText, type StopReport } from './run-stop.ts';
import type { ListedStop } from './stops.ts';

const HEAD = ['STOP', 'NAMESPACES', 'AGENTS', 'REASON', 'BY', 'UNTIL', 'STOPPED', 'PENDING'];

const cells = (...texts: string[]): Cell[] => texts.map((text) => ({ text: printable(text) }));

/** @param rootNamespace stops of this namespace concern several namespaces */
export function listText(stops: readonly ListedStop[], rootNamespace: string, paint: Paint): string {
  if (stops.length === 0) return 'there are no stops\n';
  const rows = stops.map(
    ({ id, namespace, namespaces, agents = ['*'], reason, by = '', until, ...counts }) => {
      const where = namespaces ?? [namespace === rootNamespace ? '*' : namespace];
      const { stored, stopped = '-', pending = '-' } = counts;
      const end = until ?? (stored ? '' : 'not stored yet');
      return cells(id, where.join(), agents.join(), reason, by, end, String(stopped), String(pending));
    },
  );
  return table(HEAD, rows, paint);
}

export function stopText({ stops, agents, pods, confirmed }: StopReport, paint: Paint): string {
  const ids = stops.map(({ id }) => id);
  const rows = agents.map(({ namespace, name, state, instances, confirmed: count }) =>
    cells(namespace, name, state, `${count} of ${instances}`),
  );
  const isEmpty = confirmed === true && agents.length === 0;
  return [
    ...stops.map(({ id, until }) => `created ${id}${until === undefined ? '' : `, until ${until}`}\n`),
    ...(pods > 0 ? [`annotated ${plural(pods, 'pod')}\n`] : []),
    ...(isEmpty ? ['no agent is there yet; the stop applies to agents that start later\n'] : []),
    ...(agents.length === 0 ? [] : [table(['NAMESPACE', 'AGENT', 'STATE', 'INSTANCES'], rows, paint)]),
    ...(agents.length === 0 ? [] : [`${paint(confirmed ? 'green' : 'red', progressText(agents))}\n`]),
    ...(ids.length === 0 ? [] : [`to resume: platform resume ${ids.join(' ')}\n`]),
  ].join('');
}

/** What the person must know or do next. */
export function warningsOf({ stops, agents, confirmed, warnings }: StopReport, direct: boolean): string[] {
  const open = agents.filter(({ state }) => state === 'IngressOnly').map(({ name }) => name);
  const unstored = stops.filter(({ stored }) => !stored).map(({ id }) => id);
  const next = direct
    ? 'sidecars read the annotation of their pod also while no control plane can confirm it; if calls go on, scale the workload to 0: kubectl scale --replicas=0'
    : 'platform stop --direct (with a kubeconfig) reaches the pods without a control plane';
  return [
    ...warnings,
    ...unstored.map(
      (id) =>
        `${id} applies, but is not stored yet: the control plane stores it when its API server or database is back, and loses it if it restarts before`,
    ),
    ...(open.length === 0
      ? []
      : [
          `IngressOnly: no egress lane stops the own calls of ${open.join(', ')}; docs/guide/stop.md has a NetworkPolicy that does`,
        ]),
    ...(confirmed === false ? [`not every instance has confirmed the stop. It stays in force; ${next}`] : []),
  ];
}
