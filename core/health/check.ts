import { criticalServiceIds } from '../facts/declared.ts';
import type { AgentReport, Facts, InvalidReport, Reach } from '../facts/facts.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type {
  Check,
  CheckStatus,
  HealthReport,
  HealthStatus,
  ReadyReport,
  ReadyStatus,
  ReportSource,
} from './health.ts';
import { ownChecks, reachOutcome } from './own-checks.ts';
import { invalidReportText } from './parse-agent-report.ts';
import { healthStatusOf, severityOf, summaryOf } from './summarize.ts';

/**
 * The HealthReport. Where the agent reported, its checks count, with the severities of this product and the verdict
 * computed here; else what the manifest and the facts say. The agent's port is always the sidecar's own word.
 */
export function check(manifest: Manifest, facts: Facts): HealthReport {
  const critical = criticalServiceIds(manifest);
  const checks = facts.agentReport === null ? ownChecks(manifest, facts) : agentChecks(facts.agentReport);
  const weighed = [...uniqueById(checks), ...upstreamCheck(facts.upstream)].map((each) => ({
    ...each,
    severity: severityOf(each, critical),
  }));
  return {
    agentName: manifest.metadata.name,
    timestamp: facts.at.toISOString(),
    status: healthStatusOf(weighed),
    summary: summaryOf(weighed),
    checks: weighed,
  };
}

const READY: Readonly<Record<HealthStatus, ReadyStatus>> = {
  healthy: 'ready',
  degraded: 'degraded',
  unhealthy: 'not-ready',
};

/** What `/health/ready` answers; only `not-ready` is a 503. */
export function readyOf(
  report: HealthReport,
  source: ReportSource,
  invalidReport: InvalidReport | null,
): ReadyReport {
  const ready: ReadyReport = { ...report, status: READY[report.status], source };
  if (invalidReport === null) return ready;
  const problem = invalidReportText(invalidReport);
  return { ...ready, note: `GET /platform/health of the agent is not a valid report: ${problem}` };
}

const WORST: readonly CheckStatus[] = ['fail', 'skip', 'pass'];

/** What the agent says of its own port is not its to say. */
function agentChecks(report: AgentReport): Check[] {
  return report.checks.filter((each) => !each.id.startsWith('agent:'));
}

/** Each id once, with the worst that was found: a second result for the same id cannot hide a failure. */
function uniqueById(checks: readonly Check[]): Check[] {
  const byId = new Map<string, Check>();
  for (const each of checks) {
    const known = byId.get(each.id);
    if (known === undefined || WORST.indexOf(each.status) < WORST.indexOf(known.status))
      byId.set(each.id, each);
  }
  return [...byId.values()];
}

function upstreamCheck(upstream: Reach | null): Check[] {
  if (upstream === null) return [];
  const remediation = "Check that the agent's process runs and listens on the port that UPSTREAM_URL names.";
  return [
    {
      id: 'agent:upstream',
      category: 'service',
      severity: 'warning',
      ...reachOutcome(upstream, remediation),
    },
  ];
}
