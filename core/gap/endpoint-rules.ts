import { DEFAULT_PATHS } from '../manifest/manifest.ts';
import { MAX_NAME_LENGTH } from '../untrusted/reported-name.ts';
import { AGENT_CARD_PATH, type EndpointResult, type Facts } from '../facts/facts.ts';
import { cut } from '../untrusted/fields.ts';
import { gapRules, type RuleFinding } from './finding.ts';

/** Rows about the endpoints that every agent should serve on its own port. */
export const ENDPOINT_RULES = gapRules({
  healthcheckable: {
    title: 'Health endpoint does not respond',
    recommendation:
      "Return a 2xx status for GET `spec.api.healthEndpoint` (default `/health`) on the agent's port while the agent can serve requests.",
    when: { high: 'GET `spec.api.healthEndpoint` (default `/health`) on the agent returns no 2xx response' },
    find: ({ manifest, facts: { health } }) => {
      if (health === null || isSuccess(health)) return null;
      const path = health.path ?? DEFAULT_PATHS.health;
      return missing(health, {
        severity: 'high',
        field: 'spec.api.healthEndpoint',
        description: `GET ${path} on the agent ${outcomeOf(health)}.`,
        recommendation: `Return a 2xx status for GET ${path} on the agent's port while the agent can serve requests.`,
        declared: `GET ${manifest.spec.api?.healthEndpoint ?? path}`,
      });
    },
  },
  discoverable: {
    title: 'Capabilities are not served',
    recommendation: `Return a 2xx status and the agent's tools as JSON for GET \`spec.api.capabilitiesEndpoint\` (default \`/capabilities\`), or serve an A2A agent card at ${AGENT_CARD_PATH}.`,
    when: {
      medium: `GET \`spec.api.capabilitiesEndpoint\` (default \`/capabilities\`) on the agent returns no 2xx response or an HTML page, and GET ${AGENT_CARD_PATH} returns no 2xx response with a JSON object`,
    },
    find: ({ manifest, facts: { capabilities, agentCard } }) => {
      if (capabilities === null || agentCard?.isCard === true) return null;
      const { isHtml } = capabilities;
      if (isSuccess(capabilities) && isHtml !== true) return null;
      const path = capabilities.path ?? DEFAULT_PATHS.capabilities;
      const outcome = isHtml === true ? 'returned an HTML page instead of JSON' : outcomeOf(capabilities);
      const finding = missing(capabilities, {
        severity: 'medium',
        field: 'spec.api.capabilitiesEndpoint',
        description: `GET ${path} on the agent ${outcome}, and GET ${AGENT_CARD_PATH} returned no agent card.`,
        recommendation: `Return a 2xx status and the agent's tools as JSON for GET ${path} on the agent's port, or serve an A2A agent card at ${AGENT_CARD_PATH}.`,
        declared: `GET ${manifest.spec.api?.capabilitiesEndpoint ?? path}`,
      });
      return isHtml === true ? { ...finding, observed: 'HTML page' } : finding;
    },
  },
  'discoverable.<tool>': {
    title: 'Declared tool is not listed',
    recommendation: "List the tool in the agent's capabilities or agent card, or remove it from spec.tools.",
    when: {
      medium: `GET /capabilities, or else the agent card, lists tools, and a declared tool is missing`,
    },
    find: ({ manifest, facts }) => {
      const list = listOf(facts);
      if (list === null) return null;
      return (manifest.spec.tools ?? []).flatMap(({ name }, index) =>
        list.tools.includes(cut(name, MAX_NAME_LENGTH))
          ? []
          : {
              severity: 'medium' as const,
              property: `discoverable.${name}`,
              description: `The tool ${name} is declared, but GET ${list.path} does not list it.`,
              recommendation: `List ${name} in the agent's ${list.path}, or remove it from spec.tools.`,
              field: `spec.tools[${index}].name`,
              declared: name,
            },
      );
    },
  },
});

/** The list of tools that counts, and its path; null: the agent serves no list. */
function listOf({ capabilities, agentCard }: Facts): { path: string; tools: readonly string[] } | null {
  if (capabilities !== null && isSuccess(capabilities) && capabilities.tools)
    return { path: capabilities.path ?? DEFAULT_PATHS.capabilities, tools: capabilities.tools };
  if (agentCard?.isCard === true && agentCard.tools !== null)
    return { path: AGENT_CARD_PATH, tools: agentCard.tools };
  return null;
}

function isSuccess(response: EndpointResult): boolean {
  return response.answered && response.status >= 200 && response.status <= 299;
}

function outcomeOf(response: EndpointResult): string {
  return response.answered ? `returned ${response.status}` : `failed (${response.reason})`;
}

function missing(response: EndpointResult, finding: RuleFinding): RuleFinding {
  const notProbed =
    response.unresolved === undefined
      ? ''
      : ` The path that ${finding.field} declares was not probed: ${response.unresolved}.`;
  return {
    ...finding,
    description: finding.description + notProbed,
    observed: response.answered ? `HTTP ${response.status}` : null,
  };
}
