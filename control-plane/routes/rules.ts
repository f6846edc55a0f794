import { ruleStatesOf } from '../../core/fleet/rule-states.ts';
import { MAX_AGENTS } from '../../core/shapes/rule-state.ts';
import { listOf, ref } from '../../core/untrusted/json-schema.ts';
import { readableBy } from '../auth/authorize.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import type { LiveFleet } from '../live/fleet.ts';
import { readRoute } from './read-route.ts';

/** The rules, and which agents fail or suppress them. */
export function ruleRoutes(context: ControlPlaneContext, live: () => LiveFleet): ControlPlaneRoute[] {
  return [
    readRoute('/api/v1/rules', {
      summary: `\`[{id, kind, pack, title, severity, points, meaning, remedy, failing: [{agentName, namespace}], failingCount, suppressed: [{agentName, namespace, reason, approvedBy, expires, state}], suppressedCount}]\`: every gap rule (\`kind: gap\`, the issues of \`/gap\`) and compliance rule (\`kind: compliance\`) with its state in the last report of each agent. \`failing\` and \`suppressed\` list at most ${MAX_AGENTS} agents each, ordered by namespace and name. At most two seconds old.`,
      operation: {
        id: 'listRules',
        responses: {
          200: {
            description: 'All rules: gap rules, policy rules, compliance rules.',
            schema: listOf(ref('RuleState')),
          },
        },
      },
      read: async (_request, response) =>
        ruleStatesOf(await live().excerpts(await readableBy(response, context)), MAX_AGENTS),
    }),
  ];
}
