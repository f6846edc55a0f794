import { modelCheckId, reachTargets } from '../facts/declared.ts';
import { AGENT_CARD_PATH, type EndpointResult, type Facts } from '../facts/facts.ts';
import type { ExploredEndpoint, ExploredPart, ExploreReport } from '../shapes/explore.ts';
import type { ReportSource, CheckCategory } from '../shapes/values.ts';
import type { HealthReport, Check } from '../shapes/health.ts';
import { type Manifest, DEFAULT_PATHS } from '../manifest/manifest.ts';
import { declaredNotChecked } from './declared-not-checked.ts';

type ExploredFacts = Pick<Facts, 'health' | 'capabilities' | 'agentCard' | 'egress'>;

/** Builds the explore report from the manifest, the checks and the endpoint probes. null: not known. */
export function exploreOf(
  manifest: Manifest,
  health: HealthReport,
  source: ReportSource,
  facts: ExploredFacts,
): Omit<ExploreReport, 'egress'> {
  const { spec } = manifest;
  const { model, memory } = spec;
  const found = health.checks.find((check) => check.id === modelCheckId(model));
  return {
    source,
    model: {
      provider: model.provider,
      id: model.id,
      reachable: passed(found),
      latencyMs: found?.latencyMs ?? null,
    },
    tools: toolsOf(manifest, health.checks),
    memory: {
      backend:
        memory?.backend ??
        memory?.shortTerm?.backend ??
        memory?.longTerm?.backend ??
        memory?.vector?.backend ??
        null,
      reachable: passedTogether(health.checks.filter((check) => check.category === 'memory')),
    },
    services: partsOf('service', manifest, health.checks),
    mcpServers: partsOf('mcp', manifest, health.checks),
    endpoints: endpointsOf(facts),
    guardrails: {
      input: spec.guardrails?.input?.length ?? 0,
      output: spec.guardrails?.output?.length ?? 0,
    },
    declaredNotChecked: declaredNotChecked(manifest, (facts.egress ?? null) !== null),
  };
}

function endpointsOf({ health, capabilities, agentCard }: ExploredFacts): ExploreReport['endpoints'] {
  const isHtml = capabilities?.isHtml === true;
  return {
    health: health && endpointOf(health, DEFAULT_PATHS.health),
    capabilities:
      capabilities &&
      endpointOf(
        capabilities,
        DEFAULT_PATHS.capabilities,
        isHtml ? 'the response is an HTML page' : undefined,
      ),
    agentCard: agentCard ? endpointOf(agentCard, AGENT_CARD_PATH) : null,
  };
}

function endpointOf(response: EndpointResult, defaultPath: string, responseNote?: string): ExploredEndpoint {
  const notProbed =
    response.unresolved === undefined ? [] : [`the declared path was not probed: ${response.unresolved}`];
  const notes = [...notProbed, ...(responseNote === undefined ? [] : [responseNote])];
  return {
    path: response.path ?? defaultPath,
    status: response.answered ? response.status : null,
    latencyMs: response.answered ? response.latencyMs : null,
    ...(notes.length > 0 && { note: notes.join('; ') }),
  };
}

function passed(check: Check | undefined): boolean | null {
  return check === undefined || check.status === 'skip' ? null : check.status === 'pass';
}

/** false if any check failed; null if any check is unknown or there is none. */
function passedTogether(checks: readonly Check[]): boolean | null {
  const results = checks.map(passed);
  if (results.includes(false)) return false;
  return results.length === 0 || results.includes(null) ? null : true;
}

function toolsOf(manifest: Manifest, checks: readonly Check[]): ExploreReport['tools'] {
  const declared = new Set((manifest.spec.tools ?? []).map((tool) => tool.name));
  const reported = checks.filter((check) => check.category === 'tool');
  const found = new Map(reported.map((check) => [nameOf(check.id), check]));
  return [...new Set([...declared, ...found.keys()])].map((name) => ({
    name,
    declared: declared.has(name),
    registered: passed(found.get(name)),
  }));
}

/** The declared parts in manifest order, then the parts that were only reported. */
function partsOf(kind: CheckCategory, manifest: Manifest, checks: readonly Check[]): ExploredPart[] {
  const declared = reachTargets(manifest).map(({ id }) => id);
  const ids = new Set([...declared, ...checks.map(({ id }) => id)]);
  const found = new Map(checks.map((check) => [check.id, check]));
  return [...ids]
    .filter((id) => id.startsWith(`${kind}:`))
    .map((id) => ({
      name: nameOf(id),
      reachable: passed(found.get(id)),
      latencyMs: found.get(id)?.latencyMs ?? null,
    }));
}

function nameOf(id: string): string {
  return id.slice(id.indexOf(':') + 1);
}
