// The alerts of an agent from the operator's metrics through a real Prometheus and Alertmanager to the receivers of the guide.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import type { AgentObservation } from '../core/observation/observation.ts';
import type { Condition } from '../core/shapes/condition.ts';
import type { ObservationStatus } from '../core/shapes/observation.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { run } from '../e2e/cluster/run.ts';
import { addFleetMetrics } from '../operator/agents/fleet-metrics.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { ChildServer } from '../testing/machine/child-server.ts';
import { alertingProgram, alertmanagerCommand } from '../testing/machine/debian-server.ts';
import { render, type ChartObject } from '../testing/cluster/rendered-chart.ts';
import { TestServers } from '../testing/http/sockets.ts';

interface PrometheusRule extends ChartObject {
  spec: { groups: { rules: { alert: string; expr: string }[] }[] };
}

/** The used members of alertmanager.yml. */
interface AlertmanagerConfig {
  route: { receiver: string; group_by: string[]; routes: { receiver: string }[] };
  receivers: { name: string; slack_configs?: object[]; msteamsv2_configs?: object[] }[];
}

/** The used members of a request of Alertmanager to a webhook. */
interface Notification {
  alerts: { status: string; labels: Record<string, string>; annotations: Record<string, string> }[];
}

const RUNBOOK = 'https://runbooks.example/alerts';
/** The alerts of section "Alerts of the agents" that nothing but the state of an agent fires, and its summary. */
const EXPECTED = {
  AgentComplianceAgentNotCompliant: /^team\/chat: not compliant in \d+ of the last 15 minutes\.$/,
  AgentComplianceAgentUndeclared:
    /^team\/chat: uses models, tools, MCP servers or hosts that the manifest does not declare\.$/,
  AgentComplianceAgentFailsOpen:
    /^team\/chat: requests pass without evaluation, because the policy engine is unreachable\.$/,
  AgentComplianceAgentEvidenceLost: /^team\/quiet: was compliant, and no longer has enough evidence\.$/,
};

const condition = (type: Condition['type'], status: Condition['status'], reason: string): Condition => ({
  ...{ type, status, reason, message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
});

const observation = (name: string, status: Partial<ObservationStatus>): AgentObservation => ({
  ...{ apiVersion: 'platform.io/v1', kind: 'AgentObservation', spec: { source: 'sidecar' } },
  metadata: { name, namespace: 'team' },
  status: status as ObservationStatus,
});

const CHAT = observation('chat', {
  egress: { undeclared: 2 } as NonNullable<ObservationStatus['egress']>,
  conditions: [
    condition('Compliant', 'False', 'CriticalIssue'),
    condition('PolicyLoaded', 'Unknown', 'EngineUnreachable'),
  ],
});
const quiet = (status: Condition['status'], reason: string) =>
  observation('quiet', { conditions: [condition('Compliant', status, reason)] });

/** A generous limit: each step takes a second on an idle machine, and the windows of the rules fifteen to thirty. */
const LIMIT_MS = 180_000;

async function until<T>(what: string, look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const end = Date.now() + LIMIT_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`no ${what} after ${LIMIT_MS} ms`);
    await sleep(200);
  }
}

/** The recipe of the guide; without Teams for a version of Alertmanager that does not know it. */
async function recipe(): Promise<AlertmanagerConfig> {
  const page = await readFile(join(import.meta.dirname, '../docs/guide/alerts.md'), 'utf8');
  const [, block = ''] = /```yaml\n(route:[^]*?)```/.exec(page) ?? [];
  const config = parse(block) as AlertmanagerConfig;
  if (await knowsTeams()) return config;
  return {
    route: { ...config.route, routes: [] },
    receivers: config.receivers.filter(({ msteamsv2_configs }) => msteamsv2_configs === undefined),
  };
}

/** Alertmanager sends to the Workflows of Teams since 0.28. */
async function knowsTeams(): Promise<boolean> {
  const { stdout, stderr } = await run([alertingProgram('amtool'), '--version']);
  const [, major = '0', minor = '0'] = /version (\d+)\.(\d+)/.exec(stdout + stderr) ?? [];
  return Number(major) > 0 || Number(minor) >= 28;
}

/** The rules of EXPECTED, with a second for each minute: helm/alerts.integration.test.ts tests the durations. */
async function rules(): Promise<object[]> {
  const objects = await render<PrometheusRule>(
    'monitoring.serviceMonitor.enabled=true',
    'monitoring.prometheusRule.enabled=true',
    `monitoring.prometheusRule.runbookUrl=${RUNBOOK}`,
  );
  const rule = objects.find(({ kind }) => kind === 'PrometheusRule');
  return (rule?.spec.groups.flatMap((group) => group.rules) ?? [])
    .filter(({ alert }) => Object.hasOwn(EXPECTED, alert))
    .map((each) => ({
      ...each,
      expr: each.expr.replaceAll(/\[(\d+)m59s:1m\]/g, '[$1s900ms:1s]').replaceAll('[15m]', '[15s]'),
    }));
}

// Only helm renders the chart. A missing Prometheus or Alertmanager is a failure.
(whyNoControlPlane() ? describe.skip : describe)('the alerts of an agent reach their receiver', () => {
  const servers = new TestServers();
  const ended: (() => Promise<void>)[] = [];
  /** Bodies of the requests by path. */
  const received: Record<string, string[]> = {};
  let folder = '';
  let fleet: AgentObservation[] = [];

  const start = async ([command = '', ...flags]: string[], port: number): Promise<void> => {
    const listen = `--web.listen-address=127.0.0.1:${port}`;
    const child = spawn(command, [...flags, listen, '--log.level=warn'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const server = new ChildServer(child);
    ended.push(() => {
      child.kill('SIGKILL');
      return server.ended;
    });
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    if ((await server.untilUp(isReady)) === null) throw server.failure(command);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agent-compliance-delivery-'));
    const metrics = createMetrics();
    addFleetMetrics(metrics, () => fleet);
    const operator = await servers.http((_request, response) => response.end(metrics.render()));
    const receiver = await servers.http((request, response) => {
      void text(request).then((body) => {
        (received[request.url ?? ''] ??= []).push(body);
        response.end('ok');
      });
    });
    const [alertmanager, prometheus] = [await servers.closedPort(), await servers.closedPort()];

    const config = await recipe();
    const at = (path: string) => `http://127.0.0.1:${receiver}/${path}`;
    await writeFile(join(folder, 'slack-url'), at('slack'));
    await writeFile(join(folder, 'teams-url'), at('teams'));
    const webhook = { webhook_configs: [{ url: at('webhook') }] };
    const ours = JSON.parse(
      JSON.stringify(config).replaceAll('/etc/alertmanager/secrets', folder),
    ) as AlertmanagerConfig;
    await writeFile(
      join(folder, 'alertmanager.yml'),
      stringify({
        route: { ...ours.route, group_wait: '0s', group_interval: '1s' },
        receivers: ours.receivers.map((each) => ({ ...each, ...webhook })),
      }),
    );
    await writeFile(
      join(folder, 'rules.yml'),
      stringify({ groups: [{ name: 'agents', rules: await rules() }] }),
    );
    await writeFile(
      join(folder, 'prometheus.yml'),
      stringify({
        global: { scrape_interval: '1s', evaluation_interval: '1s' },
        rule_files: [join(folder, 'rules.yml')],
        alerting: {
          alertmanagers: [{ static_configs: [{ targets: [`127.0.0.1:${alertmanager}`] }] }],
        },
        scrape_configs: [
          {
            ...{ job_name: 'agent-compliance-operator', honor_labels: true },
            static_configs: [
              { targets: [`127.0.0.1:${operator}`], labels: { namespace: 'platform-system' } },
            ],
          },
        ],
      }),
    );
    await start(
      [
        ...alertmanagerCommand(),
        `--config.file=${join(folder, 'alertmanager.yml')}`,
        `--storage.path=${join(folder, 'alertmanager')}`,
        '--cluster.listen-address=',
      ],
      alertmanager,
    );
    fleet = [CHAT, quiet('True', 'Compliant')];
    await start(
      [
        alertingProgram('prometheus'),
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'prometheus')}`,
      ],
      prometheus,
    );
    const query = encodeURIComponent('platform_agent_compliant{agent="quiet",status="True"}');
    await until('sample of the compliant agent', async () => {
      const response = await fetch(`http://127.0.0.1:${prometheus}/api/v1/query?query=${query}`);
      return (await response.text()).includes('"value"') ? true : undefined;
    });
    fleet = [CHAT, quiet('Unknown', 'NotShown')];
  }, LIMIT_MS);

  afterAll(async () => {
    await Promise.all(ended.map((end) => end()));
    await servers.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('amtool accepts the recipe of the guide', async () => {
    const file = join(folder, 'recipe.yml');
    await writeFile(file, stringify(await recipe()));
    const { code, stdout, stderr } = await run([alertingProgram('amtool'), 'check-config', file]);
    expect({ code, output: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, output: '' });
  });

  test.each(Object.entries(EXPECTED))(
    '%s: with namespace, agent, summary and runbook',
    async (alert, summary) => {
      const { labels, annotations } = await until(alert, () =>
        (received['/webhook'] ?? [])
          .flatMap((body) => (JSON.parse(body) as Notification).alerts)
          .find((each) => each.status === 'firing' && each.labels['alertname'] === alert),
      );
      expect(labels).toEqual({
        ...{ alertname: alert, severity: 'warning', namespace: 'team' },
        agent: alert === 'AgentComplianceAgentEvidenceLost' ? 'quiet' : 'chat',
      });
      expect(annotations).toEqual({
        summary: expect.stringMatching(summary),
        runbook_url: `${RUNBOOK}#${alert.toLowerCase()}`,
      });
    },
    LIMIT_MS,
  );

  test(
    'the message in the chat names the agent, the problem and the runbook',
    async () => {
      const path = (await knowsTeams()) ? '/teams' : '/slack';
      const link = `${RUNBOOK}#agentcomplianceagentundeclared`;
      const body = await until('message', () =>
        received[path]?.find((each) => each.includes(link) && each.includes('firing: team/chat')),
      );
      expect(body).toContain('team/chat: uses models, tools, MCP servers or hosts');
    },
    LIMIT_MS,
  );
});
