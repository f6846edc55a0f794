import { unusedLanesOf } from '../egress/lane-use.ts';
import { VENDOR_LANES } from '../egress/lane-variables.ts';
import { modelNamesOf } from '../facts/sightings.ts';
import { matrixOf } from '../egress/matrix.ts';
import type { MatrixKind } from '../shapes/values.ts';
import type { MatrixRow } from '../shapes/egress.ts';
import { times } from '../egress/times.ts';
import type { EgressFacts } from '../facts/egress-facts.ts';
import { CONTRADICTIONS } from './contradictions.ts';
import { gapRules, type RuleFinding, type RuleInput } from './finding.ts';

/** Findings of one rule; more do not change the score. */
const MAX_FINDINGS = 100;
/** Addresses in a text. */
const MAX_NAMED = 5;
const USE_LANE =
  'Send the calls through the lane: let the client read the base URL from its variable, and remove a base URL from the code. Declare a host in spec.egress.hosts if the pod must connect to it directly.';

/** Start of the property of the issues about tools that the manifest does not declare. */
export const UNDECLARED_TOOL = 'tools.undeclared.';

/** Rows about the agent's own calls and connections, as lanes, census and the agent's own reports show them. */
export const EGRESS_GAP_RULES = gapRules({
  [`${UNDECLARED_TOOL}<name>`]: {
    title: 'Undeclared tool observed or reported',
    recommendation: 'Declare the tool in spec.tools or spec.egress.tools, or remove it from the agent.',
    when: {
      critical:
        'on an egress lane, a tool was offered to a model, called or executed that is neither in `spec.tools` nor in `spec.egress.tools`, and that no declared MCP server lists',
      high: 'the agent itself reports a call of such a tool in a header, an event or a span, and no lane observed it; not while the tools of a declared MCP server are unknown',
    },
    find: (input) =>
      undeclared(input, 'tool').flatMap(({ name, reported, observed }) => {
        const isOnWire = observed === true;
        if (!isOnWire && hasUnknownTools(input)) return [];
        const seen = isOnWire ? usesOf(input, name) : 'reported by the agent';
        return {
          ...CONTRADICTIONS[isOnWire ? 'tool on the wire' : 'tool in a report'],
          property: `${UNDECLARED_TOOL}${name}`,
          description: isOnWire
            ? `The egress lanes observed the tool ${name}, which the manifest does not declare: ${seen}.`
            : `The agent reports calls of the tool ${name}, which the manifest does not declare.`,
          recommendation: `Declare ${name} in spec.tools or spec.egress.tools, or remove it from the agent.`,
          field: 'spec.tools',
          declared: 'not declared',
          reported: textOf(reported),
          observed: isOnWire ? seen : null,
        };
      }),
  },
  'model.undeclared.<id>': {
    title: 'Undeclared model observed or reported',
    recommendation:
      'Declare the model in spec.model, its fallback or spec.egress.models, or let the agent call the declared model.',
    when: {
      high: 'on an egress lane, a model was requested, or a response, an event or a span names a model, that is neither the declared model, a dated version of it, the fallback, nor in `spec.egress.models`; a response that repeats the model of its request does not count',
    },
    find: (input) =>
      oncePerModel(undeclared(input, 'model')).map(({ name, reported, observed }) => {
        const isOnWire = observed === true;
        const calls = times(input.facts.egress?.models.get(name) ?? 0);
        const { id } = input.manifest.spec.model;
        return {
          ...CONTRADICTIONS[isOnWire ? 'model on the wire' : 'model in a report'],
          property: `model.undeclared.${name}`,
          description: isOnWire
            ? `The egress lanes observed calls of the model ${name}, which the manifest does not declare: requested ${calls}.`
            : `Responses or reports of the agent name the model ${name}, which the manifest does not declare.`,
          recommendation: `Let the agent call ${id}, or declare ${name} in spec.egress.models (also a name of the agent's own that its responses contain).`,
          field: 'spec.model.id',
          declared: id,
          reported: textOf(reported),
          observed: isOnWire ? `${name}, requested ${calls}` : name,
        };
      }),
  },
  'tokens.misreported': {
    title: 'Reported tokens differ from observed tokens',
    recommendation: 'Report the usage that the vendor returns, for every call of the agent.',
    when: {
      medium:
        'the prompt or completion tokens that the agent reports differ by more than 5 % from those of the same requests on the egress lanes',
    },
    find: findMisreported,
  },
  'egress.unseen': {
    title: 'Connections that nothing explains',
    recommendation: 'Declare the hosts in spec.egress.hosts, or send the calls through an egress lane.',
    when: {
      low: 'the agent has connections that no lane, no declared host and no socket of the sidecar explains, also those to the upstream of a lane past the lane; shared addresses do not count',
    },
    find: findUnseen,
  },
  'egress.lane-unused.<lane>': {
    title: 'Model calls that do not pass their egress lane',
    recommendation: 'Let the client read the base URL of the lane, or remove the lane.',
    when: {
      medium:
        'the agent reports at least 3 calls of the declared model or its fallback, and no lane that can lead to its vendor had a call since the sidecar started',
    },
    find: findUnusedLanes,
  },
});

/** What lanes observed or the agent reports, and the manifest does not declare. */
function undeclared({ manifest, facts }: RuleInput, kind: MatrixKind): MatrixRow[] {
  // A reporter has neither, and its manifest is not validated against the schema.
  if (!facts.egress && facts.reported === undefined) return [];
  return matrixOf(manifest, facts)
    .rows.filter((row) => row.kind === kind && row.verdict === 'undeclared')
    .slice(0, MAX_FINDINGS);
}

/** One row per model: a lane observes the requested id, and reports have the dated id of the response. */
function oncePerModel(rows: readonly MatrixRow[]): MatrixRow[] {
  const seen = new Set<string>();
  return rows
    .toSorted((a, b) => Number(b.observed === true) - Number(a.observed === true))
    .filter(({ name }) => {
      const plain = modelNamesOf(name).at(-1) ?? name;
      const isNew = !seen.has(plain);
      seen.add(plain);
      return isNew;
    });
}

/** Whether a declared MCP server has not listed its tools on a lane, so that a reported tool may be one of them. */
function hasUnknownTools({ manifest, facts: { egress } }: RuleInput): boolean {
  const servers = manifest.spec.mcp?.servers ?? [];
  return servers.some(({ name }) => egress?.mcpServers.get(name)?.hasListed !== true);
}

const textOf = (reported: boolean | null): string | null =>
  reported === null ? null : reported ? 'reported' : 'not reported';

/** For example `offered 3 times, called once`. */
function usesOf({ facts: { egress } }: RuleInput, name: string): string {
  if (egress === undefined || egress === null) return '';
  const ofServers = [...egress.mcpServers.values()].reduce(
    (sum, server) => sum + (server.toolsCalled.get(name) ?? 0),
    0,
  );
  const uses: [verb: string, count: number][] = [
    ['offered', egress.toolsOffered.get(name) ?? 0],
    ['called', egress.toolsCalled.get(name) ?? 0],
    ['executed', egress.toolsExecuted.get(name) ?? 0],
    ['called on an MCP server', ofServers],
  ];
  return uses.flatMap(([verb, count]) => (count > 0 ? `${verb} ${times(count)}` : [])).join(', ');
}

function findMisreported({ manifest, facts }: RuleInput): RuleFinding | null {
  const { egress } = facts;
  if (egress === undefined || egress === null || egress.reportedTokens === null) return null;
  const { rows } = matrixOf(manifest, facts);
  if (!rows.some(({ kind, verdict }) => kind === 'tokens' && verdict === 'misreported')) return null;
  const reported = tokensText(egress.reportedTokens);
  const observed = tokensText(egress.tokens);
  return {
    ...CONTRADICTIONS.tokens,
    description: `The agent reports ${reported}, and the egress lanes observed ${observed} in the same requests.`,
    field: 'spec.model',
    declared: 'the usage of the vendor',
    reported,
    observed,
  };
}

function tokensText({ prompt, completion }: Pick<EgressFacts['tokens'], 'prompt' | 'completion'>): string {
  return `${prompt} prompt and ${completion} completion tokens`;
}

function findUnusedLanes({ manifest, facts: { egress, reported } }: RuleInput): RuleFinding[] {
  if (egress === undefined || egress === null || reported === undefined) return [];
  return unusedLanesOf(manifest, egress, reported).map(({ lane, modelId, reported: calls }) => ({
    severity: 'medium',
    property: `egress.lane-unused.${lane}`,
    description: `The agent reports ${calls} calls of the model ${modelId}, and its egress lane ${lane} had no call since the sidecar started.`,
    recommendation: `Let the client use the lane ${lane}: remove a base URL from the code, or set it from ${variablesOf(lane)}. For a client that reads no variable, remove the lane and use platform.io/egress-connect.`,
    field: 'spec.model',
    declared: modelId,
    reported: `called ${calls} times`,
    observed: 'no call on the lane',
    evidenceLevel: 'behavioral',
  }));
}

/** The variables in which clients look up the address of the lane. */
function variablesOf(lane: string): string {
  const { variables = [] } = Object.hasOwn(VENDOR_LANES, lane)
    ? VENDOR_LANES[lane as keyof typeof VENDOR_LANES]
    : {};
  const names = variables.map(({ name }) => name);
  return names.length === 0 ? 'the variable of the annotation platform.io/egress-lanes' : names.join(' or ');
}

function findUnseen({ facts }: RuleInput): RuleFinding | null {
  const unseen = (facts.egress?.census?.unseenEgress ?? []).filter(({ verdict }) => verdict === 'undeclared');
  if (unseen.length === 0) return null;
  const named = unseen.slice(0, MAX_NAMED).map(({ name, address, port, lanes }) => {
    const target = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
    const notes = [name ?? [], lanes === undefined ? [] : `past lane ${lanes.join(', ')}`].flat();
    return notes.length === 0 ? target : `${target} (${notes.join(', ')})`;
  });
  const more = unseen.length - named.length;
  const observed = `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return {
    ...CONTRADICTIONS['connection in the census'],
    description: `The agent has connections that no lane, no declared host and no socket of the sidecar explains: ${observed}.`,
    ...(unseen.some(({ lanes }) => lanes !== undefined) && { recommendation: USE_LANE }),
    field: 'spec.egress.hosts',
    declared: 'not declared',
    reported: null,
    observed,
  };
}
