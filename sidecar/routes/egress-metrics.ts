import { OUTCOMES } from '../../core/shapes/values.ts';
import type { Sample } from '../../runtime/metrics.ts';
import type { LaneCounts } from '../egress/egress-log.ts';
import { UNREAD_REASONS } from '../egress/lane-call.ts';
import type { SidecarContext } from '../context.ts';

interface Row {
  name: string;
  help: string;
  /** Without the label of the lane. */
  read: (counts: LaneCounts) => readonly Sample[];
}

const ROWS: readonly Row[] = [
  {
    name: 'platform_sidecar_egress_calls_total',
    help: 'Calls of the agent by lane and policy outcome. failOpen: the policy engine was unreachable, so the call passed.',
    read: ({ calls }) => OUTCOMES.map((outcome) => ({ labels: { outcome }, value: calls[outcome] })),
  },
  {
    name: 'platform_sidecar_egress_blocked_total',
    help: 'Calls by lane that were denied, or whose response lost a forbidden tool call.',
    read: ({ blocked }) => [{ value: blocked }],
  },
  {
    name: 'platform_sidecar_egress_failed_closed_total',
    help: 'Calls by lane that were denied because the policy engine could not evaluate them, or because their body could not be read (EGRESS_FAIL_MODE). Also counted as outcome deny.',
    read: ({ failedClosed }) => [{ value: failedClosed }],
  },
  {
    name: 'platform_sidecar_egress_unread_total',
    help: 'Bodies by lane that were not read: of unknown routes (route), above the memory limit (size), or in another form than that of the protocol (form). With EGRESS_FAIL_MODE=closed, those of known routes are denied.',
    read: ({ unread }) => UNREAD_REASONS.map((reason) => ({ labels: { reason }, value: unread[reason] })),
  },
  {
    name: 'platform_sidecar_egress_failures_total',
    help: 'Calls by lane that the upstream did not serve completely.',
    read: ({ failed }) => [{ value: failed }],
  },
  {
    name: 'platform_sidecar_egress_unattributed_total',
    help: 'Calls by lane whose request to the agent is not known.',
    read: ({ unattributed }) => [{ value: unattributed }],
  },
  {
    name: 'platform_sidecar_egress_without_usage_total',
    help: 'Calls of models by lane whose tokens are not known.',
    read: ({ withoutUsage }) => [{ value: withoutUsage }],
  },
  {
    name: 'platform_sidecar_egress_tokens_total',
    help: 'Tokens by lane, as the vendors state them. Also counted in platform_sidecar_tokens_total.',
    read: ({ tokens }) => [
      { labels: { kind: 'prompt' }, value: tokens.prompt },
      { labels: { kind: 'completion' }, value: tokens.completion },
    ],
  },
];

/** Registers the metrics of the lanes. There are at most as many label values as lanes. */
export function addEgressMetrics({ metrics, lanes }: SidecarContext): void {
  const log = lanes?.egress.log;
  const reservations = lanes?.egress.reservations;
  for (const { name, help, read } of ROWS)
    metrics.total(name, help, () =>
      [...(log?.counts ?? [])].flatMap(([lane, counts]) =>
        read(counts).map(({ labels, value }) => ({ labels: { lane, ...labels }, value })),
      ),
    );
  const connect = lanes?.connect ?? null;
  metrics.total(
    'platform_sidecar_egress_tunnels_total',
    'CONNECT requests by result: a tunnel (open), a host that is denied before or in its TLS handshake (denied), or another failure (failed). A tunnel that its handshake ends counts twice.',
    () =>
      connect === null
        ? []
        : [
            { labels: { result: 'open' }, value: connect.counts.tunnels },
            { labels: { result: 'denied' }, value: connect.counts.denied },
            { labels: { result: 'failed' }, value: connect.counts.failed },
          ],
  );
  metrics.gauge(
    'platform_sidecar_egress_reserved_tokens',
    'Tokens that calls in flight, and calls of this UTC day without usage, may have used.',
    () => (reservations === undefined ? [] : [{ value: reservations.total.tokens }]),
  );
}
