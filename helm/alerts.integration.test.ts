// Runs the rendered alerts in Prometheus' own engine (promtool), on the metrics that the operator renders.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { stringify } from 'yaml';
import type { AgentObservation } from '../core/observation/observation.ts';
import type { Condition } from '../core/shapes/condition.ts';
import type { ObservationStatus } from '../core/shapes/observation.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { run } from '../e2e/cluster/run.ts';
import { addFleetMetrics } from '../operator/agents/fleet-metrics.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { alertingProgram } from '../testing/machine/debian-server.ts';
import { RELEASE_NAMESPACE, render, type ChartObject } from '../testing/cluster/rendered-chart.ts';

interface PrometheusRule extends ChartObject {
  spec: { groups: { rules: { alert: string; annotations: { runbook_url: string } }[] }[] };
}

interface ServiceMonitor extends ChartObject {
  spec: { endpoints: object[] };
}

/** The value of a series at a minute; null: no sample. */
type Values = (minute: number) => number | null;
type Series = Record<string, Values>;
type Status = Partial<ObservationStatus>;

/** An hour of samples, two per minute. */
const STEPS = 120;
const DAY = 86_400;

const of = (part: string, instance: string) =>
  `namespace="${RELEASE_NAMESPACE}",job="agent-compliance-${part}",instance="${instance}"`;
const always =
  (value: number): Values =>
  () =>
    value;
const steady = (status: Status) => (): Status => status;
/** Of each three minutes, two are bad. */
const flapping =
  <T>(bad: T, good: T) =>
  (minute: number): T =>
    minute % 3 < 2 ? bad : good;
const between =
  <T>(from: number, to: number, bad: T, good: T) =>
  (minute: number): T =>
    minute >= from && minute < to ? bad : good;
const growing =
  (perMinute: number): Values =>
  (minute) =>
    minute * perMinute;

const UP = Object.fromEntries(
  ['webhook', 'operator', 'control-plane'].map((part) => [part, `up{${of(part, 'a')}}`]),
) as Record<'webhook' | 'operator' | 'control-plane', string>;
const LEADER = `leader_election_master_status{${of('operator', 'a')},name="platform-operator"}`;
const requests = (status: string) =>
  `platform_control_plane_requests_total{${of('control-plane', 'a')},method="POST",route="/",status="${status}"}`;
const reviews = (code: string) =>
  `controller_runtime_webhook_requests_total{${of('webhook', 'a')},webhook="/mutate/pod",code="${code}"}`;
const DEPTH = `workqueue_depth{${of('operator', 'a')},name="agents",controller="agents"}`;
const MIRROR = `platform_operator_mirror_up{${of('operator', 'a')}}`;
const CANARY = `platform_operator_canary_passing{${of('operator', 'a')}}`;
const EXPIRY = `platform_webhook_certificate_expiry_seconds{${of('webhook', 'a')}}`;
const ERRORS = `controller_runtime_reconcile_errors_total{${of('operator', 'a')},controller="agents"}`;
const TLS = `platform_webhook_tls_errors_total{${of('webhook', 'a')},code="X"}`;
const LEFT_OUT = `platform_operator_agents_without_metrics{${of('operator', 'a')}}`;
const tooLarge = (informer: string) =>
  `platform_operator_incomplete_namespaces{${of('operator', 'a')},informer="${informer}"}`;
/** With honorLabels, the namespace of a pod replaces that of the webhook. */
const REFUSAL = `platform_webhook_last_refusal_timestamp_seconds{job="agent-compliance-webhook",instance="a",namespace="team",code="host-network"}`;

/** An installation without problems; the operator has two replicas, and `b` is not the leader. */
const HEALTHY: Series = {
  [UP.webhook]: always(1),
  [UP.operator]: always(1),
  [UP['control-plane']]: always(1),
  [LEADER]: always(1),
  [LEADER.replace('"a"', '"b"')]: always(0),
  [requests('200')]: growing(100),
  [requests('503')]: always(0),
  [reviews('200')]: growing(10),
  [reviews('503')]: always(0),
  [DEPTH]: always(3),
  [MIRROR]: always(1),
  [CANARY]: always(1),
  // Not valid on a replica that is not the leader.
  [CANARY.replace('"a"', '"b"')]: always(0),
  [EXPIRY]: always(80 * DAY),
  [ERRORS]: always(7),
};

const condition = (type: string, status: Condition['status'], reason: string): Condition => ({
  ...{ type: type as Condition['type'], status, reason, message: '' },
  lastTransitionTime: '2026-01-01T00:00:00Z',
});

const GOOD = [
  condition('Ready', 'True', 'Healthy'),
  condition('Reporting', 'True', 'HeartbeatReceived'),
  condition('Injected', 'True', 'SidecarPresent'),
  condition('Routed', 'True', 'ThroughSidecar'),
  condition('PolicyLoaded', 'True', 'PolicyLoaded'),
  condition('ManifestValid', 'True', 'ManifestValid'),
  condition('SidecarFits', 'True', 'SidecarFits'),
  condition('Compliant', 'True', 'Compliant'),
];

/** The status of a healthy agent, except for these conditions. */
const withConditions = (...changed: Condition[]): Status => ({
  phase: 'Healthy',
  score: 90,
  outcomes: { deny: 0, allow: 9, failOpen: 0, notEvaluated: 0 },
  conditions: GOOD.map((good) => changed.find(({ type }) => type === good.type) ?? good),
});
const WELL = withConditions();
const failing = (type: string, reason: string, status: Condition['status'] = 'False') =>
  withConditions(condition(type, status, reason));
const failedOpen = (failOpen: number): Status => ({
  ...WELL,
  outcomes: { deny: 0, allow: 9, failOpen, notEvaluated: 0 },
});
const withUndeclared = (undeclared: number): Status => ({
  ...WELL,
  egress: { undeclared } as NonNullable<Status['egress']>,
});
const NOT_SHOWN = failing('Compliant', 'NotShown', 'Unknown');
const scored = (score: number): Status => ({ ...WELL, score });

interface Case {
  alert: string;
  what: string;
  /** Replaces series of the healthy installation. */
  series?: Series;
  /** The state of the agent team/chat; null: the agent does not exist. */
  agent?: (minute: number) => Status | null;
  /** Labels in addition to severity and namespace. */
  labels?: Record<string, string>;
  namespace?: string;
  severity?: string;
  summary: string;
  /** Minutes at which the alert fires, and does not fire. */
  fires: number[];
  silent?: number[];
}

const ofAgent = (
  alert: string,
  what: string,
  agent: NonNullable<Case['agent']>,
  rest: Pick<Case, 'summary' | 'fires' | 'silent'>,
): Case => ({
  ...{ alert, what, agent, labels: { agent: 'chat' }, namespace: 'team' },
  ...{ ...rest, summary: `team/chat: ${rest.summary}` },
});

const DOWN = {
  injector: 'No injector is up: new agent pods cannot be injected.',
  operator: 'No operator is up: AgentObservations are not updated.',
  controlPlane: 'No control plane is up: no agent status is updated.',
};
const NOT_REPORTING = [condition('Ready', 'False', 'Stale'), condition('Reporting', 'False', 'Stale')];
const STALE = withConditions(...NOT_REPORTING);

const CASES: Case[] = [
  {
    ...{ alert: 'AgentComplianceInjectorDown', what: 'no replica exists', severity: 'critical' },
    series: { [UP.webhook]: between<number | null>(10, 60, null, 1) },
    ...{ summary: DOWN.injector, fires: [20, 55], silent: [5, 9] },
  },
  {
    ...{
      alert: 'AgentComplianceInjectorDown',
      what: 'its process ends again and again',
      severity: 'critical',
    },
    series: { [UP.webhook]: flapping(0, 1) },
    ...{ summary: DOWN.injector, fires: [20, 21, 22, 23] },
  },
  {
    ...{ alert: 'AgentComplianceInjectorErrors', what: 'responses are 503' },
    series: { [reviews('503')]: growing(2) },
    ...{ summary: 'The injector responds to the API server with errors.', fires: [10] },
  },
  {
    ...{ alert: 'AgentComplianceInjectorNotTrusted', what: 'handshakes fail' },
    series: { [TLS]: growing(6) },
    summary: 'TLS handshakes with the injector fail: a client does not trust its certificate.',
    fires: [15],
  },
  {
    ...{
      alert: 'AgentComplianceInjectorRefuses',
      what: 'one pod of a namespace was rejected, for the first time',
    },
    series: { [REFUSAL]: (minute) => (minute < 30 ? null : 30 * 60) },
    ...{ labels: { code: 'host-network' }, namespace: 'team' },
    ...{ summary: 'team: pods that opt in are rejected: host-network.', fires: [31, 49], silent: [29, 51] },
  },
  {
    ...{ alert: 'AgentComplianceCertificateExpires', what: 'it has 13 days left', severity: 'critical' },
    series: { [EXPIRY]: always(13 * DAY) },
    summary:
      "The injector's certificate expires in less than 14 days; it should have been renewed 30 days before expiry.",
    fires: [15],
  },
  {
    ...{ alert: 'AgentComplianceCanaryFails', what: 'the pod differs', severity: 'critical' },
    series: { [CANARY]: between(10, 60, 0, 1) },
    ...{
      summary: "The canary's dry-run pod differs from the expected injected pod.",
      fires: [21],
      silent: [15],
    },
  },
  {
    ...{ alert: 'AgentComplianceOperatorDown', what: 'no replica is up', severity: 'critical' },
    series: { [UP.operator]: between(10, 60, 0, 1) },
    ...{ summary: DOWN.operator, fires: [20, 50], silent: [12] },
  },
  {
    ...{
      alert: 'AgentComplianceOperatorDown',
      what: 'its process ends again and again',
      severity: 'critical',
    },
    series: { [UP.operator]: flapping(0, 1) },
    ...{ summary: DOWN.operator, fires: [20, 21, 22, 23] },
  },
  {
    ...{ alert: 'AgentComplianceNoLeader', what: 'no replica leads', severity: 'critical' },
    series: { [LEADER]: between(10, 60, 0, 1) },
    ...{ summary: 'No replica of the operator is the leader.', fires: [15, 50], silent: [11] },
  },
  {
    ...{
      alert: 'AgentComplianceNoLeader',
      what: 'the leader loses its Lease again and again',
      severity: 'critical',
    },
    series: { [LEADER]: flapping(0, 1) },
    ...{ summary: 'No replica of the operator is the leader.', fires: [20, 21, 22, 23] },
  },
  {
    ...{
      alert: 'AgentComplianceReconcileErrors',
      what: 'a controller fails',
      labels: { controller: 'agents' },
    },
    series: { [ERRORS]: growing(1) },
    ...{ summary: "The operator's controller agents fails repeatedly.", fires: [25] },
  },
  {
    ...{
      alert: 'AgentComplianceQueueGrows',
      what: 'the queue is long again and again',
      labels: { name: 'agents' },
    },
    series: { [DEPTH]: flapping(500, 5) },
    summary: "The operator's queue agents had more than 100 keys in 14 of the last 20 minutes.",
    ...{ fires: [31], silent: [8] },
  },
  {
    ...{ alert: 'AgentComplianceMirrorFails', what: 'polls fail again and again' },
    series: { [MIRROR]: flapping(0, 1) },
    summary: 'The control plane outside the cluster cannot be read: its mirrored agents are not updated.',
    ...{ fires: [20, 21, 22], silent: [3] },
  },
  {
    ...{ alert: 'AgentComplianceControlPlaneDown', what: 'no replica is up', severity: 'critical' },
    series: { [UP['control-plane']]: between(10, 60, 0, 1) },
    ...{ summary: DOWN.controlPlane, fires: [20, 50], silent: [12] },
  },
  {
    ...{ alert: 'AgentComplianceControlPlaneErrors', what: 'a fifth of the responses is 503' },
    series: { [requests('503')]: growing(25) },
    ...{
      summary: "More than 5 % of the control plane's responses are server errors.",
      fires: [25],
      silent: [8],
    },
  },
  {
    ...{ alert: 'AgentComplianceAgentsWithoutMetrics', what: 'there are too many agents' },
    series: { [LEFT_OUT]: always(12) },
    ...{ summary: '12 agents are above the limit of 5,000 and have no alerts.', fires: [20] },
  },
  {
    ...{ alert: 'AgentComplianceNamespaceTooLarge', what: 'a tenant fills its namespace' },
    series: { [tooLarge('pods')]: between(10, 30, 1, 0), [tooLarge('mounts')]: always(1) },
    summary: '1 namespaces have more objects than the product has memory for: their agents are not updated.',
    ...{ fires: [16, 29], silent: [9, 12, 40] },
  },
  ofAgent('AgentComplianceAgentsStale', 'no heartbeat arrives', between(10, 30, STALE, WELL), {
    ...{ summary: 'stopped reporting.', fires: [16, 30], silent: [9, 13, 45] },
  }),
  ofAgent('AgentComplianceAgentsStale', 'the sidecar reports only now and then', flapping(STALE, WELL), {
    ...{ summary: 'stopped reporting.', fires: [20, 21, 22] },
  }),
  ofAgent(
    'AgentComplianceAgentNeverReported',
    'it has run for minutes',
    steady(withConditions(condition('Reporting', 'False', 'NeverReported'))),
    { summary: 'runs, but has never reported.', fires: [6, 40], silent: [3] },
  ),
  ofAgent(
    'AgentComplianceAgentsUnhealthy',
    'a check of severity error fails',
    between(10, 20, failing('Ready', 'Unhealthy'), WELL),
    {
      summary: 'was unhealthy or did not respond in 8 of the last 15 minutes.',
      ...{ fires: [17], silent: [9, 13, 35] },
    },
  ),
  ofAgent(
    'AgentComplianceAgentsUnhealthy',
    'its process ends again and again',
    flapping(failing('Ready', 'AgentUnreachable'), WELL),
    { summary: 'was unhealthy or did not respond in 10 of the last 15 minutes.', fires: [31] },
  ),
  ofAgent(
    'AgentComplianceAgentCannotStart',
    'the manifest is invalid',
    steady(failing('ManifestValid', 'ManifestInvalid')),
    {
      summary: 'the manifest is invalid or the sidecar does not fit, so new pods do not start.',
      ...{ fires: [6], silent: [3] },
    },
  ),
  ofAgent(
    'AgentComplianceAgentCannotStart',
    'a quota does not allow the sidecar',
    steady(failing('SidecarFits', 'QuotaExceeded')),
    {
      summary: 'the manifest is invalid or the sidecar does not fit, so new pods do not start.',
      ...{ fires: [6], silent: [3] },
    },
  ),
  ofAgent(
    'AgentComplianceAgentNotInjected',
    'a pod has no sidecar',
    steady(failing('Injected', 'SidecarMissing')),
    { summary: 'a pod runs without the sidecar.', fires: [6], silent: [3] },
  ),
  ofAgent(
    'AgentComplianceAgentNotRouted',
    'a Service bypasses the sidecar',
    steady(failing('Routed', 'ServiceBypassesSidecar')),
    { summary: 'requests do not pass the sidecar.', fires: [6], silent: [3] },
  ),
  ...['PolicyNotLoaded', 'NoEngine'].map((reason) =>
    ofAgent('AgentCompliancePolicyNotLoaded', reason, steady(failing('PolicyLoaded', reason)), {
      summary: 'no policy rule is enforced, because the policy engine does not have the rules.',
      ...{ fires: [6], silent: [3] },
    }),
  ),
  ofAgent(
    'AgentComplianceAgentFailsOpen',
    'the policy engine is unreachable',
    steady(failing('PolicyLoaded', 'EngineUnreachable', 'Unknown')),
    {
      summary: 'requests pass without evaluation, because the policy engine is unreachable.',
      ...{ fires: [6], silent: [3] },
    },
  ),
  ofAgent(
    'AgentComplianceAgentFailsOpen',
    'requests passed in a short outage, and before a pod was removed',
    (minute) => failedOpen(minute < 20 ? 100 : minute < 30 ? 40 : 41),
    {
      summary: 'requests pass without evaluation, because the policy engine is unreachable.',
      ...{ fires: [31, 44], silent: [10, 22, 29, 46] },
    },
  ),
  ofAgent('AgentComplianceAgentGradeLow', 'the grade is D', steady(scored(59)), {
    ...{ summary: 'the grade is D or F.', fires: [6], silent: [3] },
  }),
  ofAgent(
    'AgentComplianceAgentGradeLow',
    'the grade is F again and again',
    flapping(scored(0), scored(100)),
    {
      ...{ summary: 'the grade is D or F.', fires: [20, 21, 22] },
    },
  ),
  ofAgent('AgentComplianceAgentUndeclared', 'two are seen', between(10, 60, withUndeclared(2), WELL), {
    summary: 'uses models, tools, MCP servers or hosts that the manifest does not declare.',
    ...{ fires: [16, 50], silent: [9, 13] },
  }),
  ofAgent(
    'AgentComplianceAgentEvidenceLost',
    'nothing shows the items any more',
    between(10, 60, NOT_SHOWN, WELL),
    {
      summary: 'was compliant, and no longer has enough evidence.',
      ...{ fires: [41, 55], silent: [16, 37] },
    },
  ),
  ofAgent(
    'AgentComplianceAgentNotCompliant',
    'with changing reasons',
    flapping(failing('Compliant', 'CriticalIssue'), failing('Compliant', 'PolicyDenied')),
    { summary: 'not compliant in 15 of the last 15 minutes.', fires: [31], silent: [3] },
  ),
];

/** Series of processes that are the only replica. */
const LONE = [...Object.values(UP), LEADER];
const replaced = (names: readonly string[], values: Values): Series =>
  Object.fromEntries(names.map((name) => [name, values]));

/** States that look like those above, in which no alert fires at all. */
const QUIET: Pick<Case, 'what' | 'series' | 'agent'>[] = [
  { what: 'an installation without problems' },
  {
    what: 'a new installation, whose processes are not up at once',
    series: replaced(LONE, (minute) => (minute < 0.5 ? null : minute < 1 ? 0 : 1)),
  },
  {
    what: 'a rolling update with one replica, whose next process is not up at once',
    series: {
      ...replaced(LONE, between<number | null>(30, 60, null, 1)),
      ...replaced(
        LONE.map((name) => name.replace('"a"', '"c"')),
        (minute) => (minute < 30 ? null : minute < 31 ? 0 : 1),
      ),
    },
  },
  {
    what: 'an agent that is scaled to zero',
    agent: steady(
      withConditions(
        condition('Ready', 'False', 'ScaledToZero'),
        condition('Reporting', 'False', 'ScaledToZero'),
        condition('PolicyLoaded', 'Unknown', 'NotReporting'),
        condition('Compliant', 'Unknown', 'NotReporting'),
      ),
    ),
  },
  {
    what: 'a stopped agent that no longer reports',
    agent: steady({
      ...STALE,
      conditions: [...(STALE.conditions ?? []), condition('Stopped', 'Unknown', 'Stopping')],
      stop: { id: 'team/a', reason: 'leak', since: '2026-01-01T00:00:00Z', instances: 0, confirmed: 0 },
    }),
  },
  {
    what: 'a new agent, which is Pending',
    agent: (minute) =>
      minute < 10
        ? null
        : minute < 13
          ? withConditions(
              condition('Ready', 'False', 'NoHeartbeat'),
              condition('Reporting', 'Unknown', 'AwaitingFirstHeartbeat'),
            )
          : WELL,
  },
  { what: 'an agent with the lowest grade that is not D', agent: steady(scored(60)) },
  {
    what: 'an agent that does not respond for three minutes',
    agent: between(10, 13, failing('Ready', 'AgentUnreachable'), WELL),
  },
  { what: 'an agent that never had enough evidence', agent: steady(NOT_SHOWN) },
  {
    what: 'an agent that lacks evidence for 20 minutes after a restart',
    agent: between(10, 30, NOT_SHOWN, WELL),
  },
];

/** The series of the agent as both replicas of the operator render them. */
function agentSeries(agent: NonNullable<Case['agent']>): Series {
  const series: Series = {};
  for (let step = 0; step <= STEPS; step += 1) {
    const minute = step / 2;
    const metrics = createMetrics();
    const status = agent(minute);
    addFleetMetrics(metrics, () => (status === null ? [] : [observation(status)]));
    for (const line of metrics.render().split('\n')) {
      const [, name, labels, value] = /^(platform_agent_\w+)\{(.*)\} (\S+)$/.exec(line) ?? [];
      if (name === undefined) continue;
      for (const instance of ['a', 'b']) {
        const key = `${name}{job="agent-compliance-operator",instance="${instance}",${labels}}`;
        const before = series[key];
        series[key] = (at) => (at === minute ? Number(value) : (before?.(at) ?? null));
      }
    }
  }
  return series;
}

const observation = (status: Status): AgentObservation => ({
  ...{ apiVersion: 'platform.io/v1', kind: 'AgentObservation', spec: { source: 'sidecar' } },
  metadata: { name: 'chat', namespace: 'team' },
  status: status as ObservationStatus,
});

/** A series in promtool's notation. Prometheus marks a series as stale in the first scrape without it. */
function valuesOf(values: Values): string {
  const all = Array.from({ length: STEPS + 1 }, (_, step) => values(step / 2));
  return all.map((value, step) => value ?? ((all[step - 1] ?? null) === null ? '_' : 'stale')).join(' ');
}

let directory = '';
let rules: PrometheusRule['spec']['groups'][number]['rules'] = [];
let rulesFile = '';

/** What promtool reports; empty: the alerts fire as expected. */
async function problems(
  { series = {}, agent = steady(WELL) }: Pick<Case, 'series' | 'agent'>,
  expected: { alertname: string; eval_time: string; exp_alerts: object[] }[],
): Promise<string> {
  const file = join(directory, `${expected[0]?.alertname}.yaml`);
  const all: Series = { ...HEALTHY, ...agentSeries(agent), ...series };
  await writeFile(
    file,
    stringify({
      ...{ rule_files: [rulesFile], evaluation_interval: '30s' },
      tests: [
        {
          interval: '30s',
          input_series: Object.entries(all).map(([name, values]) => ({
            series: name,
            values: valuesOf(values),
          })),
          alert_rule_test: expected,
        },
      ],
    }),
  );
  const { code, stdout, stderr } = await run([alertingProgram('promtool'), 'test', 'rules', file]);
  return code === 0 ? '' : stdout + stderr;
}

// Only helm renders the chart. A missing promtool is a failure.
(whyNoControlPlane() ? describe.skip : describe)('the alerts of the chart', () => {
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'agent-compliance-alerts-'));
    const values = ['monitoring.serviceMonitor.enabled=true', 'monitoring.prometheusRule.enabled=true'];
    const objects = await render<PrometheusRule>(...values);
    const rule = objects.find(({ kind }) => kind === 'PrometheusRule');
    rules = rule?.spec.groups.flatMap((group) => group.rules) ?? [];
    rulesFile = join(directory, 'rules.yaml');
    await writeFile(rulesFile, stringify({ groups: rule?.spec.groups }));
  }, 60_000);
  afterAll(() => rm(directory, { recursive: true, force: true }));

  test('promtool accepts the rules', async () => {
    const result = await run([alertingProgram('promtool'), 'check', 'rules', rulesFile]);
    expect(result).toMatchObject({ code: 0, stderr: '' });
  });

  test('without a policy engine in the values, no alert fires because agents have none', async () => {
    const values = ['monitoring.serviceMonitor.enabled=true', 'monitoring.prometheusRule.enabled=true'];
    const text = async (...set: string[]) => JSON.stringify(await render(...values, ...set));
    expect(await text()).toContain('NoEngine');
    expect(await text('policy.engine=none')).not.toContain('NoEngine');
  });

  test('the namespace in a metric is not replaced by that of the process', async () => {
    const monitors = (await render<ServiceMonitor>('monitoring.serviceMonitor.enabled=true')).filter(
      ({ kind }) => kind === 'ServiceMonitor',
    );
    expect(monitors).toHaveLength(3);
    for (const { spec } of monitors) expect(spec.endpoints).toMatchObject([{ honorLabels: true }]);
  });

  test('every alert has a case', () => {
    const named = rules.map(({ alert }) => alert);
    expect([...new Set(CASES.map(({ alert }) => alert))].sort()).toEqual(named.sort());
  });

  describe('an alert fires with the namespace to notify', () => {
    test.each(CASES.map((row) => [row.alert, row.what, row] as const))(
      '%s: %s',
      async (alertname, _what, row) => {
        const {
          labels,
          severity = 'warning',
          namespace = RELEASE_NAMESPACE,
          summary,
          fires,
          silent = [],
        } = row;
        const runbook = rules.find(({ alert }) => alert === alertname)?.annotations.runbook_url;
        const firing = {
          exp_labels: { severity, namespace, ...labels },
          exp_annotations: { summary, runbook_url: runbook },
        };
        const expected = [...fires, ...silent].map((minute) => ({
          ...{ alertname, eval_time: `${minute}m` },
          exp_alerts: fires.includes(minute) ? [firing] : [],
        }));
        expect(await problems(row, expected)).toBe('');
      },
    );
  });

  describe('no alert fires', () => {
    test.each(QUIET.map((row) => [row.what, row] as const))('for %s', async (_what, row) => {
      const expected = rules.flatMap(({ alert }) =>
        [1, 2, 3, 12, 16, 27, 31, 32, 33, 36, 59].map((minute) => ({
          alertname: alert,
          eval_time: `${minute}m`,
          exp_alerts: [],
        })),
      );
      expect(await problems(row, expected)).toBe('');
    });
  });
});
