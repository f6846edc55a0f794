import { checkReport, type CheckReport, type CheckInput } from '../../authoring/diagnosis/check-report.ts';
import { known } from '../../authoring/diagnosis/facts.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listObjects } from '../../kube/objects.ts';
import { WEBHOOK_CONFIGURATIONS } from '../../kube/resources.ts';
import type { CliContext } from '../context.ts';
import { withCluster, type ClusterOptions, type ClusterResult } from './connect.ts';
import { gatherAgents } from './gather-agents.ts';
import { gatherCluster, gatherInstall } from './gather-cluster.ts';
import { gatherInjector } from './gather-injector.ts';
import { findRelease, gatherRelease } from './gather-release.ts';
import { CHART_LABEL, CHART_NAME } from './kinds.ts';
import { readFact } from './read-fact.ts';

export type CheckOptions = ClusterOptions & { pre?: true };

/** Checks the cluster once. */
export async function runCheck(
  options: CheckOptions,
  context: Pick<CliContext, 'env' | 'cwd' | 'now'>,
): Promise<ClusterResult<CheckReport>> {
  return withCluster(options, context, async ({ server, client }) =>
    checkReport(server, await gatherFacts(client, options, context.now)),
  );
}

async function gatherFacts(client: KubeClient, options: CheckOptions, now: () => Date): Promise<CheckInput> {
  const { pre, namespace, release } = options;
  if (pre)
    return {
      stage: 'pre',
      facts: await gatherInstall(client, { release: release ?? CHART_NAME, namespace }),
    };
  const [cluster, search] = await Promise.all([
    gatherCluster(client),
    readFact(`list deployments in ${namespace}`, () => findRelease(client, namespace, release)),
  ]);
  if (!search.known || search.value === null) {
    const elsewhere = search.known ? known(await elsewhereOf(client)) : search;
    return { stage: 'missing', facts: cluster, namespace, elsewhere };
  }
  const found = search.value;
  const prefix = prefixOf(found.deployments.map(({ metadata }) => metadata.name));
  const [own, injector, agents] = await Promise.all([
    gatherRelease(client, now, found),
    gatherInjector(client, found.release, prefix),
    gatherAgents(client, namespace),
  ]);
  const about = { at: now(), release: found.release };
  return { stage: 'installed', facts: { ...cluster, ...about, ...own, ...injector, ...agents } };
}

/** All names of the chart start with the same prefix. */
function prefixOf(deployments: readonly string[]): string {
  const [first = ''] = deployments;
  return first.replace(/-(operator|webhook|control-plane)$/, '');
}

/** Namespaces that the product's webhook configurations point to; empty if reading them is not permitted. */
async function elsewhereOf(client: KubeClient): Promise<string[]> {
  const fact = await readFact('list mutatingwebhookconfigurations', () =>
    listObjects(client, WEBHOOK_CONFIGURATIONS, { labelSelector: CHART_LABEL }),
  );
  if (!fact.known) return [];
  const namespaces = fact.value.items
    .flatMap(({ webhooks = [] }) => webhooks)
    .flatMap(({ clientConfig }) => clientConfig.service?.namespace ?? []);
  return [...new Set(namespaces)];
}
