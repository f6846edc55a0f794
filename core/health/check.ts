import { isFailing } from '../behavior/summarize-behavior.ts';
import { WORST_FIRST } from '../facts/check.ts';
import { criticalServiceIds } from '../facts/declared.ts';
import type { AgentReport, Facts, InvalidReport, Reach } from '../facts/facts.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type { ReadyReport } from '../shapes/sidecar-reports.ts';
import type { ReportSource } from '../shapes/values.ts';
import type { HealthReport, HealthStatus, Check } from '../shapes/health.ts';
import { checkOf, fail, ownChecks, reachOutcome } from './own-checks.ts';
import { invalidReportText } from './parse-agent-report.ts';
import { healthStatusOf, severityOf, summaryOf } from './summarize.ts';

/**
 * The HealthReport. If there is an agent report, its checks are used; otherwise the checks come from the manifest and the
 * facts. Severities and status are always computed here, and `agent:upstream` always comes from the sidecar's own probe.
 */
export function check(manifest: Manifest, facts: Facts): HealthReport {
  const critical = criticalServiceIds(manifest);
  const checks = facts.agentReport === null ? ownChecks(manifest, facts) : agentChecks(facts.agentReport);
  const all = [...uniqueById(checks), ...upstreamCheck(facts.upstream), ...servingCheck(facts)];
  const rated = all.map((each) => ({ ...each, severity: severityOf(each, critical) }));
  return {
    agentName: manifest.metadata.name,
    timestamp: facts.at.toISOString(),
    status: healthStatusOf(rated),
    summary: summaryOf(rated),
    checks: rated,
  };
}

const READY: Readonly<Record<HealthStatus, ReadyReport['status']>> = {
  healthy: 'ready',
  degraded: 'degraded',
  unhealthy: 'not-ready',
};

/** The response body of `/health/ready`; only `not-ready` has status 503. */
export function readyOf(
  report: HealthReport,
  source: ReportSource,
  invalidReport: InvalidReport | null,
): ReadyReport {
  const ready: ReadyReport = { ...report, status: READY[report.status], source };
  if (invalidReport === null) return ready;
  const problem = invalidReportText(invalidReport);
  return { ...ready, note: `GET /platform/health on the agent did not return a valid report: ${problem}` };
}

/** The agent's checks without `agent:` checks, which only the sidecar may report. */
function agentChecks(report: AgentReport): Check[] {
  return report.checks.filter((each) => !each.id.startsWith('agent:'));
}

/** Each id once, with its worst status, so that a second result for the same id cannot hide a failure. */
function uniqueById(checks: readonly Check[]): Check[] {
  const byId = new Map<string, Check>();
  for (const each of checks) {
    const known = byId.get(each.id);
    if (known === undefined || WORST_FIRST.indexOf(each.status) < WORST_FIRST.indexOf(known.status))
      byId.set(each.id, each);
  }
  return [...byId.values()];
}

function upstreamCheck(upstream: Reach | null): Check[] {
  if (upstream === null) return [];
  const remediation = "Check that the agent's process is running and listening on the port in UPSTREAM_URL.";
  return [checkOf('agent:upstream', reachOutcome(upstream, remediation))];
}

/** Only if it fails: without enough requests nothing is known, and other reports stay as they are. */
function servingCheck({ behavior: { serving } }: Facts): Check[] {
  if (!isFailing(serving)) return [];
  const message = `${serving.failed} of the last ${serving.responses} responses of the agent have a 5xx status`;
  return [checkOf('agent:serving', fail(message, "Fix the errors in the agent's log."))];
}
