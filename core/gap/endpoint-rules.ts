import { MAX_NAME_LENGTH } from '../behavior/reported-name.ts';
import type { HttpAnswer } from '../facts/facts.ts';
import { cut } from '../untrusted/fields.ts';
import type { Finding, GapRule } from './finding.ts';

/** Rows about the two endpoints that every agent should answer on its own port. */
export const ENDPOINT_RULES: readonly GapRule[] = [
  {
    property: 'healthcheckable',
    when: { high: 'GET /health of the agent gives no 2xx' },
    find: ({ facts }) =>
      missingEndpoint(facts.health, {
        severity: 'high',
        property: 'healthcheckable',
        path: '/health',
        field: 'spec.api.healthEndpoint',
        recommendation: "Answer GET /health on the agent's port with a 2xx status while the agent can serve.",
      }),
  },
  {
    property: 'discoverable',
    when: { medium: 'GET /capabilities of the agent gives no 2xx' },
    find: ({ facts }) =>
      missingEndpoint(facts.capabilities, {
        severity: 'medium',
        property: 'discoverable',
        path: '/capabilities',
        field: 'spec.api',
        recommendation:
          "Answer GET /capabilities on the agent's port with a 2xx status and the list of its tools.",
      }),
  },
  {
    property: 'discoverable.<tool>',
    when: { medium: 'GET /capabilities lists tools, and the declared one is not among them' },
    find: ({ manifest, facts }) => {
      const { capabilities } = facts;
      if (!isSuccess(capabilities)) return [];
      const listed = capabilities?.tools;
      if (listed === undefined || listed === null) return [];
      return (manifest.spec.tools ?? []).flatMap(({ name }, index) =>
        listed.includes(cut(name, MAX_NAME_LENGTH))
          ? []
          : [
              {
                severity: 'medium' as const,
                property: `discoverable.${name}`,
                description: `The tool ${name} is declared, but GET /capabilities does not list it.`,
                recommendation: `List ${name} in the agent's /capabilities, or remove it from spec.tools.`,
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

function isSuccess(answer: HttpAnswer | null): boolean {
  return answer?.answered === true && answer.status >= 200 && answer.status <= 299;
}

function missingEndpoint(
  answer: HttpAnswer | null,
  about: Pick<Finding, 'severity' | 'property' | 'field' | 'recommendation'> & { path: string },
): Finding[] {
  if (answer === null || isSuccess(answer)) return [];
  const { path, ...finding } = about;
  const observed = answer.answered ? `HTTP ${answer.status}` : null;
  const what = answer.answered ? `answers ${answer.status}` : `gives no answer (${answer.reason})`;
  return [
    {
      ...finding,
      description: `GET ${path} of the agent ${what}.`,
      declared: `GET ${path}`,
      observed,
      evidenceLevel: 'probed',
    },
  ];
}
