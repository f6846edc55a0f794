import { invalidReportText } from '../health/parse-agent-report.ts';
import type { GapRule } from './finding.ts';

/** The property of an invalid report of the agent. */
export const REPORTER_INVALID = 'reporter.invalid';

/** A row about the agent's own report where that is not valid: what the report would have shown is not known. */
export const REPORTER_RULES: readonly GapRule[] = [
  {
    property: REPORTER_INVALID,
    when: {
      high: 'GET /platform/health of the agent gives a 2xx response that is not a valid report: a field is not valid, `agentName` is another, or `timestamp` is more than 120 s old or more than 60 s ahead',
    },
    find: ({ facts }) => {
      if (facts.invalidReport === null) return [];
      const problem = invalidReportText(facts.invalidReport);
      return [
        {
          severity: 'high',
          property: REPORTER_INVALID,
          description: `GET /platform/health of the agent is not a valid report: ${problem}.`,
          recommendation:
            "Return the HealthReport of the product's reporter with this manifest, and keep the clocks in sync.",
          field: 'spec.api',
          declared: 'GET /platform/health',
          observed: problem,
          evidenceLevel: 'probed',
        },
      ];
    },
  },
];
