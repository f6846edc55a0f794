import { OUTCOMES } from '../../core/shapes/values.ts';
import { METRICS_CONTENT_TYPE, type Sample } from '../../runtime/metrics.ts';
import { VERSION } from '../../runtime/version.ts';
import { tokenPriceOf } from '../../core/manifest/token-price.ts';
import { DROP_REASONS } from '../otlp/forwarder.ts';
import { SPAN_RESULTS } from '../otlp/span-recorder.ts';
import type { SidecarRoute } from '../access.ts';
import type { SidecarContext } from '../context.ts';
import { STOPPED_PORTS } from '../stop/stop-switch.ts';
import { addEgressMetrics } from './egress-metrics.ts';

interface Row {
  name: string;
  help: string;
  /** Empty: the metric does not apply to this sidecar. */
  read: (context: SidecarContext) => readonly Sample[];
}

/** Totals since the start of the process that other components count. */
const TOTALS: readonly Row[] = [
  {
    name: 'platform_sidecar_requests_total',
    help: 'Proxied requests by policy outcome.',
    read: ({ audit }) => OUTCOMES.map((outcome) => ({ labels: { outcome }, value: audit.outcomes[outcome] })),
  },
  {
    name: 'platform_sidecar_tokens_total',
    help: 'Tokens counted in responses, model events and spans.',
    read: ({ audit }) => [
      { labels: { kind: 'prompt' }, value: audit.tokens.prompt },
      { labels: { kind: 'completion' }, value: audit.tokens.completion },
    ],
  },
  {
    name: 'platform_sidecar_answers_without_usage_total',
    help: 'Model responses whose tokens could not be read and are missing in budgets.',
    read: ({ audit }) => [{ value: audit.responsesWithoutUsage }],
  },
  {
    name: 'platform_sidecar_audit_dropped_total',
    help: 'Audit entries overwritten in the ring.',
    read: ({ audit }) => [{ value: audit.ring.dropped }],
  },
  {
    name: 'platform_sidecar_audit_log_events_total',
    help: 'Events of the audit log: written, or lost (dropped).',
    read: ({ record }) =>
      record === null
        ? []
        : (['written', 'dropped'] as const).map((result) => ({
            labels: { result },
            value: record.writer.counts[result],
          })),
  },
  {
    name: 'platform_sidecar_audit_log_failures_total',
    help: 'Failed writes of the audit log, each of which is repeated.',
    read: ({ record }) => (record === null ? [] : [{ value: record.writer.counts.failures }]),
  },
  {
    name: 'platform_sidecar_audit_log_sent_total',
    help: 'Events of the audit log that a receiver accepted: the control plane, or a collector (otlp).',
    read: ({ record }) =>
      (record?.senders.all ?? []).map(({ name, sent }) => ({ labels: { receiver: name }, value: sent })),
  },
  {
    name: 'platform_sidecar_audit_log_skipped_total',
    help: 'Events of the audit log that are never sent to a receiver: their file was removed by rotation (rotated), too many were waiting (full), the line is not an event (invalid), or the receiver did not accept them (rejected).',
    read: ({ record }) =>
      (record?.senders.all ?? []).flatMap(({ name, lost }) =>
        Object.entries(lost).map(([reason, value]) => ({ labels: { receiver: name, reason }, value })),
      ),
  },
  {
    name: 'platform_sidecar_overload_total',
    help: 'Actions at the memory limit: requests rejected with 503 (refused), stuck exchanges aborted (cut), connections closed (dropped).',
    read: ({ load }) => [
      { labels: { action: 'refused' }, value: load.refused },
      { labels: { action: 'cut' }, value: load.cut },
      { labels: { action: 'dropped' }, value: load.dropped },
    ],
  },
  {
    name: 'platform_sidecar_stopped_requests_total',
    help: 'Requests that were refused because the agent is stopped, by port.',
    read: ({ stop }) => STOPPED_PORTS.map((port) => ({ labels: { port }, value: stop.refused[port] })),
  },
  {
    name: 'platform_sidecar_http2_refused_total',
    help: 'Connections to the proxy port that started with HTTP/2 (gRPC, h2c with prior knowledge) and received GOAWAY HTTP_1_1_REQUIRED.',
    read: ({ http2 }) => [{ value: http2.count }],
  },
  {
    name: 'platform_sidecar_events_dropped_total',
    help: 'Events dropped at a memory limit: rejected with 413 because their entry was full, or removed from older entries.',
    read: ({ audit }) => [
      { labels: { reason: 'entry_full' }, value: audit.eventMemory.refused },
      { labels: { reason: 'ring_full' }, value: audit.eventMemory.removed },
    ],
  },
  {
    name: 'platform_sidecar_late_denials_total',
    help: 'Requests denied because of trailers or events, and therefore not blocked.',
    read: ({ audit }) => [{ value: audit.lateDenials }],
  },
  {
    name: 'platform_sidecar_policy_fail_open_seconds_total',
    help: 'Seconds in which requests passed unevaluated because the policy engine was unreachable.',
    read: ({ engine }) => [{ value: engine.failOpenSeconds() }],
  },
  {
    name: 'platform_sidecar_llm_analyses_total',
    help: 'LLM analyses: ended with issues or without (ready), failed, or not sent because of a limit of the day (budget).',
    read: ({ llm: { analysis } }) =>
      analysis === null
        ? []
        : [
            { labels: { result: 'ready' }, value: analysis.counts.ready },
            { labels: { result: 'failed' }, value: analysis.counts.failed },
            { labels: { result: 'budget' }, value: analysis.counts.budget },
          ],
  },
  {
    name: 'platform_sidecar_otlp_requests_total',
    help: 'Requests to the OTLP receiver by the status of the response.',
    read: ({ otlp }) =>
      [...(otlp?.responses ?? [])].map(([status, value]) => ({ labels: { status: String(status) }, value })),
  },
  {
    name: 'platform_sidecar_otlp_overload_total',
    help: 'Connections and requests that the OTLP receiver ended at a limit.',
    read: ({ otlp }) => (otlp === null ? [] : [{ value: otlp.overload }]),
  },
  {
    name: 'platform_sidecar_otlp_spans_total',
    help: 'Received spans: with evidence in the entry of their request (recorded), with tokens counted without a request (usage), with evidence but without a known request (unmatched), of a call that another span describes (repeated), or without evidence (other).',
    read: ({ otlp }) =>
      otlp === null
        ? []
        : SPAN_RESULTS.map((result) => ({ labels: { result }, value: otlp.recorder.counts[result] })),
  },
  {
    name: 'platform_sidecar_otlp_forwarded_total',
    help: 'Exports that the OTLP collector accepted.',
    read: ({ otlp }) => (otlp?.forwarder ? [{ value: otlp.forwarder.forwarded }] : []),
  },
  {
    name: 'platform_sidecar_otlp_dropped_total',
    help: 'Exports that were not forwarded to the OTLP collector: the queue was full (full), three attempts failed (failed), or the collector refused the export (rejected).',
    read: ({ otlp }) => {
      const dropped = otlp?.forwarder?.dropped;
      return dropped === undefined
        ? []
        : DROP_REASONS.map((reason) => ({ labels: { reason }, value: dropped[reason] }));
    },
  },
  {
    name: 'platform_sidecar_census_scans_total',
    help: 'Scans of the socket tables.',
    read: ({ census }) => (census.state.state === 'on' ? [{ value: census.scans }] : []),
  },
  {
    name: 'platform_sidecar_census_scan_seconds_total',
    help: 'Seconds that the scans of the socket tables took.',
    read: ({ census }) => (census.state.state === 'on' ? [{ value: census.scanSeconds }] : []),
  },
  {
    name: 'platform_sidecar_unseen_egress_dropped_total',
    help: 'Addresses and ports that were removed from the list because there were more than 200.',
    read: ({ census }) => (census.state.state === 'on' ? [{ value: census.dropped }] : []),
  },
];

const GAUGES: readonly Row[] = [
  {
    name: 'platform_sidecar_event_bytes',
    help: 'Memory of the events in the audit ring, in bytes.',
    read: ({ audit }) => [{ value: audit.eventMemory.bytes }],
  },
  {
    name: 'platform_sidecar_otlp_queue_bytes',
    help: 'Bytes of the exports that wait for the OTLP collector.',
    read: ({ otlp }) => (otlp?.forwarder ? [{ value: otlp.forwarder.bytes }] : []),
  },
  {
    name: 'platform_sidecar_policy_loaded',
    help: "0 if the policy engine responded without this agent's rules, else 1.",
    read: ({ policy, engine }) => (policy.hasEngine ? [{ value: engine.isLoaded() ? 1 : 0 }] : []),
  },
  {
    name: 'platform_sidecar_stopped',
    help: '1 if the agent is stopped, else 0.',
    read: ({ stop }) => [{ value: stop.current === null ? 0 : 1 }],
  },
  {
    name: 'platform_sidecar_tokens_today',
    help: 'Tokens of the current UTC day.',
    read: ({ audit, manifest, peerUsage }) => [
      {
        labels: { instances: 'this' },
        value: audit.totalsToday(tokenPriceOf(manifest.manifest)).tokensToday,
      },
      { labels: { instances: 'others' }, value: peerUsage.totals.tokens },
    ],
  },
  {
    name: 'platform_sidecar_llm_tokens_today',
    help: 'Tokens of the LLM analysis on the current UTC day, with reservations.',
    read: ({ llm: { analysis } }) =>
      analysis === null
        ? []
        : [
            { labels: { kind: 'input' }, value: analysis.today.input },
            { labels: { kind: 'output' }, value: analysis.today.output },
          ],
  },
  {
    name: 'platform_sidecar_llm_cost_today_usd',
    help: 'Cost of the LLM analysis on the current UTC day, with reservations, in US dollars.',
    read: ({ llm: { analysis } }) => (analysis === null ? [] : [{ value: analysis.today.usd }]),
  },
  {
    name: 'platform_sidecar_census_state',
    help: '1 for the state of the socket census: off, on or refused.',
    read: ({ census }) => [{ labels: { state: census.state.state }, value: 1 }],
  },
  {
    name: 'platform_sidecar_unseen_egress',
    help: 'Addresses and ports of the last 24 hours that no lane, declared host or connection of the sidecar explains.',
    read: ({ census }) => {
      const unseen = census.facts()?.unseenEgress;
      return (unseen === undefined ? [] : (['undeclared', 'unknown'] as const)).map((verdict) => ({
        labels: { verdict },
        value: unseen?.filter((each) => each.verdict === verdict).length ?? 0,
      }));
    },
  },
  {
    name: 'platform_sidecar_unexplained_opens',
    help: 'Connections since the start that ended before a scan saw their address.',
    read: ({ census }) => {
      const facts = census.facts();
      return facts === null ? [] : [{ value: facts.unexplainedOpens }];
    },
  },
  {
    name: 'platform_sidecar_build_info',
    help: 'The version of this sidecar.',
    read: () => [{ labels: { version: VERSION }, value: 1 }],
  },
];

/** `GET /metrics`. Nearly all values are read on each scrape, so that proxied requests have no extra cost. */
export function metricsRoutes(context: SidecarContext, heartbeatFailures: () => number): SidecarRoute[] {
  const { metrics } = context;
  for (const { name, help, read } of TOTALS) metrics.total(name, help, () => read(context));
  for (const { name, help, read } of GAUGES) metrics.gauge(name, help, () => read(context));
  metrics.gauge(
    'platform_sidecar_heartbeat_failures',
    'Failed heartbeats since the last accepted heartbeat.',
    () => [{ value: heartbeatFailures() }],
  );
  addEgressMetrics(context);
  return [
    {
      method: 'GET',
      path: '/metrics',
      access: 'open',
      summary: 'Returns Prometheus metrics.',
      operation: {
        id: 'getMetrics',
        responses: { 200: { description: 'The metrics in the text format.', contentType: 'text/plain' } },
      },
      handlers: [(_request, response) => void response.type(METRICS_CONTENT_TYPE).send(metrics.render())],
    },
  ];
}
