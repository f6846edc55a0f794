import { OUTCOMES } from '../../core/behavior/audit-entry.ts';
import type { Route } from '../../runtime/http-app.ts';
import { METRICS_CONTENT_TYPE, type Counter, type Labels } from '../../runtime/metrics.ts';
import { VERSION } from '../../runtime/version.ts';
import { tokenPriceOf } from '../../core/manifest/token-price.ts';
import type { SidecarContext } from '../context.ts';

/** `GET /metrics`: what was counted, read when somebody asks, so that a request pays nothing for it. */
export function metricsRoutes(context: SidecarContext, heartbeatFailures: () => number): Route[] {
  const { audit, others, manifest, engine, metrics } = context;
  const requests = risingTo(
    metrics.counter('platform_sidecar_requests_total', 'Proxied requests by policy outcome.'),
  );
  const tokens = risingTo(
    metrics.counter('platform_sidecar_tokens_total', 'Tokens counted in answers and model events.'),
  );
  const dropped = risingTo(
    metrics.counter('platform_sidecar_audit_dropped_total', 'Audit entries overwritten in the ring.'),
  );
  const failOpen = risingTo(
    metrics.counter(
      'platform_sidecar_policy_fail_open_seconds_total',
      'Seconds in which requests passed unevaluated because the policy engine did not answer.',
    ),
  );
  metrics.gauge('platform_sidecar_tokens_today', 'Tokens of the current UTC day.', () => [
    {
      labels: { instances: 'this' },
      value: audit.totalsToday(tokenPriceOf(manifest.manifest)).tokensToday,
    },
    { labels: { instances: 'others' }, value: others.totals.tokens },
  ]);
  metrics.gauge(
    'platform_sidecar_heartbeat_failures',
    'Heartbeats that failed since the last accepted one.',
    () => [{ value: heartbeatFailures() }],
  );
  metrics.gauge('platform_sidecar_build_info', 'The version of this sidecar.', () => [
    { labels: { version: VERSION }, value: 1 },
  ]);
  return [
    {
      method: 'GET',
      path: '/metrics',
      summary: 'Prometheus metrics.',
      handlers: [
        (_request, response) => {
          for (const outcome of OUTCOMES) requests(audit.outcomes[outcome], { outcome });
          tokens(audit.tokens.prompt, { kind: 'prompt' });
          tokens(audit.tokens.completion, { kind: 'completion' });
          failOpen(engine.failOpenSeconds());
          dropped(audit.ring.dropped);
          response.type(METRICS_CONTENT_TYPE).send(metrics.render());
        },
      ],
    },
  ];
}

/** Raises a counter to a total that is kept elsewhere. */
function risingTo(counter: Counter): (total: number, labels?: Labels) => void {
  const known = new Map<string, number>();
  return (total, labels = {}) => {
    const key = JSON.stringify(labels);
    counter.add(labels, total - (known.get(key) ?? 0));
    known.set(key, total);
  };
}
