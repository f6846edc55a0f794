import { invalidReportText } from '../health/parse-agent-report.ts';
import { gapRules } from './finding.ts';

/** The gap property for an invalid report of the agent. */
export const REPORTER_INVALID = 'reporter.invalid';

/** The row for an invalid report of the agent. The contents of an invalid report are ignored. */
export const REPORTER_RULES = gapRules({
  [REPORTER_INVALID]: {
    title: 'Health report of the agent is invalid',
    recommendation:
      "Return the HealthReport of the product's reporter, configured with this manifest, and keep the clocks in sync.",
    when: {
      high: 'GET /platform/health on the agent returns a 2xx response that is not a valid report: a field is invalid, `agentName` does not match, or `timestamp` is more than 120 s old or more than 60 s ahead',
    },
    find: ({ facts }) => {
      if (facts.invalidReport === null) return null;
      const problem = invalidReportText(facts.invalidReport);
      return {
        severity: 'high',
        description: `GET /platform/health on the agent did not return a valid report: ${problem}.`,
        field: 'spec.api',
        declared: 'GET /platform/health',
        observed: problem,
      };
    },
  },
});
