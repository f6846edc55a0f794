import { MAX_NAME_LENGTH } from '../behavior/reported-name.ts';
import { AGENT_CARD_PATH, DEFAULT_PATHS, type EndpointAnswer, type Facts } from '../facts/facts.ts';
import { cut } from '../untrusted/fields.ts';
import type { Finding, GapRule } from './finding.ts';

/** Rows about the endpoints that every agent should answer on its own port. */
export const ENDPOINT_RULES: readonly GapRule[] = [
  {
    property: 'healthcheckable',
    when: { high: 'GET of `spec.api.healthEndpoint` (default `/health`) of the agent gives no 2xx' },
    find: ({ manifest, facts: { health } }) => {
      if (health === null || isSuccess(health)) return [];
      const path = health.path ?? DEFAULT_PATHS.health;
      return [
        missing(health, {
          severity: 'high',
          property: 'healthcheckable',
          field: 'spec.api.healthEndpoint',
          description: `GET ${path} of the agent ${answerOf(health)}.`,
          recommendation: `Answer GET ${path} on the agent's port with a 2xx status while the agent can serve.`,
          declared: `GET ${manifest.spec.api?.healthEndpoint ?? path}`,
        }),
      ];
    },
  },
  {
    property: 'discoverable',
    when: {
      medium: `GET of \`spec.api.capabilitiesEndpoint\` (default \`/capabilities\`) of the agent gives no 2xx, or an HTML page, and GET ${AGENT_CARD_PATH} gives no JSON object with a 2xx`,
    },
    find: ({ manifest, facts: { capabilities, agentCard } }) => {
      if (capabilities === null || agentCard?.isCard === true) return [];
      const { isHtml } = capabilities;
      if (isSuccess(capabilities) && isHtml !== true) return [];
      const path = capabilities.path ?? DEFAULT_PATHS.capabilities;
      const what = isHtml === true ? 'answers with an HTML page, not with a card' : answerOf(capabilities);
      const finding = missing(capabilities, {
        severity: 'medium',
        property: 'discoverable',
        field: 'spec.api.capabilitiesEndpoint',
        description: `GET ${path} of the agent ${what}, and GET ${AGENT_CARD_PATH} gives no agent card.`,
        recommendation: `Answer GET ${path} on the agent's port with a 2xx status and the list of its tools as JSON, or serve an A2A agent card at ${AGENT_CARD_PATH}.`,
        declared: `GET ${manifest.spec.api?.capabilitiesEndpoint ?? path}`,
      });
      return [isHtml === true ? { ...finding, observed: 'HTML page' } : finding];
    },
  },
  {
    property: 'discoverable.<tool>',
    when: {
      medium: `GET /capabilities, else the agent card, lists tools, and the declared one is not among them`,
    },
    find: ({ manifest, facts }) => {
      const list = listOf(facts);
      if (list === null) return [];
      return (manifest.spec.tools ?? []).flatMap(({ name }, index) =>
        list.tools.includes(cut(name, MAX_NAME_LENGTH))
          ? []
          : [
              {
                severity: 'medium' as const,
                property: `discoverable.${name}`,
                description: `The tool ${name} is declared, but GET ${list.path} does not list it.`,
                recommendation: `List ${name} in the agent's ${list.path}, or remove it from spec.tools.`,
                field: `spec.tools[${index}].name`,
                declared: name,
                observed: null,
                evidenceLevel: 'probed' as const,
              },
            ],
      );
    },
  },
];

/** The list of tools that counts, and where it is; null: the agent has none. */
function listOf({ capabilities, agentCard }: Facts): { path: string; tools: readonly string[] } | null {
  if (capabilities !== null && isSuccess(capabilities) && capabilities.tools)
    return { path: capabilities.path ?? DEFAULT_PATHS.capabilities, tools: capabilities.tools };
  if (agentCard?.isCard === true && agentCard.tools !== null)
    return { path: AGENT_CARD_PATH, tools: agentCard.tools };
  return null;
}

function isSuccess(answer: EndpointAnswer): boolean {
  return answer.answered && answer.status >= 200 && answer.status <= 299;
}

function answerOf(answer: EndpointAnswer): string {
  return answer.answered ? `answers ${answer.status}` : `gives no answer (${answer.reason})`;
}

function missing(answer: EndpointAnswer, about: Omit<Finding, 'observed' | 'evidenceLevel'>): Finding {
  const notAsked =
    answer.unresolved === undefined
      ? ''
      : ` The path that ${about.field} declares was not probed: ${answer.unresolved}.`;
  return {
    ...about,
    description: about.description + notAsked,
    observed: answer.answered ? `HTTP ${answer.status}` : null,
    evidenceLevel: 'probed',
  };
}
