import { matrixOf, type MatrixKind, type MatrixRow } from '../egress/matrix.ts';
import type { EgressFacts } from '../facts/egress-facts.ts';
import type { GapRule, RuleFinding, RuleInput } from './finding.ts';

/** Findings of one rule; more do not change the score. */
const MAX_FINDINGS = 100;
/** Addresses in a text. */
const MAX_NAMED = 5;

/** Rows about the agent's own calls and connections, as the egress lanes and the socket census observed them. */
export const EGRESS_GAP_RULES: readonly GapRule[] = [
  {
    property: 'tools.undeclared.<name>',
    title: 'Undeclared tool observed',
    recommendation: 'Declare the tool in spec.tools or spec.egress.tools, or remove it from the agent.',
    when: {
      critical:
        'on an egress lane, a tool was offered to a model, called or executed that is neither in `spec.tools` nor in `spec.egress.tools`, and that no declared MCP server lists',
    },
    find: (input) =>
      undeclared(input, 'tool').map(({ name, reported }) => ({
        severity: 'critical',
        property: `tools.undeclared.${name}`,
        description: `The egress lanes observed the tool ${name}, which the manifest does not declare: ${usesOf(input, name)}.`,
        field: 'spec.tools',
        declared: 'not declared',
        reported: textOf(reported),
        observed: usesOf(input, name),
        evidenceLevel: 'behavioral',
      })),
  },
  {
    property: 'model.undeclared.<id>',
    title: 'Undeclared model observed',
    recommendation:
      'Declare the model in spec.model, its fallback or spec.egress.models, or let the agent call the declared model.',
    when: {
      high: 'on an egress lane, a model was requested that is neither the declared model, a dated version of it, the fallback, nor in `spec.egress.models`',
    },
    find: (input) =>
      undeclared(input, 'model').map(({ name, reported }) => {
        const calls = times(input.facts.egress?.models.get(name) ?? 0);
        return {
          severity: 'high',
          property: `model.undeclared.${name}`,
          description: `The egress lanes observed calls of the model ${name}, which the manifest does not declare: requested ${calls}.`,
          field: 'spec.model.id',
          declared: input.manifest.spec.model.id,
          reported: textOf(reported),
          observed: `${name}, requested ${calls}`,
          evidenceLevel: 'behavioral',
        };
      }),
  },
  {
    property: 'tokens.misreported',
    title: 'Reported tokens differ from observed tokens',
    recommendation: 'Report the usage that the vendor returns, for every call of the agent.',
    when: {
      medium:
        'the prompt or completion tokens that the agent reports differ by more than 5 % from those of the same requests on the egress lanes',
    },
    find: findMisreported,
  },
  {
    property: 'egress.unseen',
    title: 'Connections that nothing explains',
    recommendation: 'Declare the hosts in spec.egress.hosts, or send the calls through an egress lane.',
    when: {
      low: 'the agent has connections that no lane, no declared host and no socket of the sidecar explains; shared addresses do not count',
    },
    find: findUnseen,
  },
];

/** What lanes observed and the manifest does not declare. Nothing is found without lanes. */
function undeclared({ manifest, facts }: RuleInput, kind: MatrixKind): MatrixRow[] {
  if (facts.egress === undefined || facts.egress === null) return [];
  return matrixOf(manifest, facts)
    .rows.filter((row) => row.kind === kind && row.verdict === 'undeclared' && row.observed === true)
    .slice(0, MAX_FINDINGS);
}

const textOf = (reported: boolean | null): string | null =>
  reported === null ? null : reported ? 'reported' : 'not reported';

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);

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
    severity: 'medium',
    description: `The agent reports ${reported}, and the egress lanes observed ${observed} in the same requests.`,
    field: 'spec.model',
    declared: 'the usage of the vendor',
    reported,
    observed,
    evidenceLevel: 'behavioral',
  };
}

function tokensText({ prompt, completion }: Pick<EgressFacts['tokens'], 'prompt' | 'completion'>): string {
  return `${prompt} prompt and ${completion} completion tokens`;
}

function findUnseen({ facts }: RuleInput): RuleFinding | null {
  const unseen = (facts.egress?.census?.unseenEgress ?? []).filter(({ verdict }) => verdict === 'undeclared');
  if (unseen.length === 0) return null;
  const named = unseen.slice(0, MAX_NAMED).map(({ name, address, port }) => {
    const target = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
    return name === null ? target : `${target} (${name})`;
  });
  const more = unseen.length - named.length;
  const observed = `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return {
    severity: 'low',
    description: `The agent has connections that no lane, no declared host and no socket of the sidecar explains: ${observed}.`,
    field: 'spec.egress.hosts',
    declared: 'not declared',
    reported: null,
    observed,
    evidenceLevel: 'behavioral',
  };
}
