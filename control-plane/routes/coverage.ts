import { coverageOf } from '../../core/fleet/coverage.ts';
import { COVERAGE_KINDS } from '../../core/shapes/coverage.ts';
import { wantedNamespaces } from '../auth/authorize.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import type { LiveFleet } from '../live/fleet.ts';
import { namespaceReader } from './find-agent.ts';
import { integerIn, readQuery } from './query.ts';
import { readRoute } from './read-route.ts';

/** Default and maximum number of listed gaps of each kind. */
const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 10_000;

const COVERAGE_QUERY = {
  namespace: { ...namespaceReader, description: 'Only agents in this namespace.' },
  limit: integerIn(1, MAX_LIMIT, `Maximum number of gaps of each kind; default ${DEFAULT_LIMIT}.`),
};

/** What the control plane does not see of the fleet. */
export function coverageRoutes(context: ControlPlaneContext, live: () => LiveFleet): ControlPlaneRoute[] {
  return [
    readRoute('/api/v1/coverage', {
      summary: `\`{generatedAt, agents, gaps: [{kind, agentName, namespace, reason, remedy, since}], kinds: [{kind, title, explanation, count}]}\`: the parts of agents that nothing reports. Kinds: ${COVERAGE_KINDS.map((kind) => `\`${kind}\``).join(', ')}. \`count\` counts the agents of a kind; \`gaps\` lists at most \`?limit=\` (1..${MAX_LIMIT}, default ${DEFAULT_LIMIT}) of them, ordered by namespace and name. Query: \`?namespace=\`. At most two seconds old.`,
      operation: {
        id: 'getCoverage',
        query: COVERAGE_QUERY,
        responses: { 200: { description: 'The gaps by kind.', schema: 'CoverageReport' } },
      },
      async read(request, response) {
        const { namespace, limit = DEFAULT_LIMIT } = readQuery(request, COVERAGE_QUERY);
        const agents = await live().excerpts(await wantedNamespaces(response, context, namespace));
        return coverageOf(agents, { at: context.clock.now(), limit });
      },
    }),
  ];
}
