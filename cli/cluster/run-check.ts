import { setTimeout as sleep } from 'node:timers/promises';
import { checkReport, type CheckReport, type Seen } from '../../core/diagnosis/check-report.ts';
import { known } from '../../core/diagnosis/fact.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listObjects } from '../../kube/objects.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { CliContext } from '../context.ts';
import { withCluster, type ClusterOptions, type Looked } from './connect.ts';
import { gatherAgents } from './gather-agents.ts';
import { gatherCluster, gatherInstall } from './gather-cluster.ts';
import { gatherInjector } from './gather-injector.ts';
import { findRelease, gatherRelease } from './gather-release.ts';
import { CHART_LABEL, INJECTORS } from './kinds.ts';
import { look } from './look.ts';

export interface CheckOptions extends ClusterOptions {
  pre: boolean;
  /** Of the release. */
  namespace: string;
  release?: string;
}

/** Looks at the cluster once. */
export async function lookAtCluster(
  options: CheckOptions,
  context: Pick<CliContext, 'env' | 'cwd' | 'now'>,
): Promise<Looked<CheckReport>> {
  return withCluster(options, context, async ({ server, client }) =>
    checkReport(server, await seenIn(client, options, context.now)),
  );
}

/** As the chart names them by default. */
const RELEASE = 'agent-compliance';
const NAMESPACES = ['platform-remote', 'platform-canary'];

async function seenIn(client: KubeClient, options: CheckOptions, now: () => Date): Promise<Seen> {
  const { pre, namespace, release = null } = options;
  if (pre) {
    const about = { release: release ?? RELEASE, namespace, namespaces: NAMESPACES };
    return { stage: 'pre', facts: await gatherInstall(client, about) };
  }
  const [cluster, looked] = await Promise.all([
    gatherCluster(client),
    look(`list deployments in ${namespace}`, () => findRelease(client, namespace, release)),
  ]);
  if (!looked.known || looked.value === null) {
    const elsewhere = looked.known ? known(await elsewhereOf(client)) : looked;
    return { stage: 'missing', facts: cluster, namespace, elsewhere };
  }
  const found = looked.value;
  const prefix = prefixOf(found.deployments.map(({ metadata }) => metadata.name));
  const clock: Clock = {
    now,
    monotonicMs: () => performance.now(),
    // Keeps the process alive, unlike that of the services.
    sleep: (ms) => sleep(ms),
  };
  const [own, injector, agents] = await Promise.all([
    gatherRelease(client, clock, found),
    gatherInjector(client, found.release, prefix),
    gatherAgents(client, namespace),
  ]);
  const about = { at: now(), release: found.release };
  return { stage: 'installed', facts: { ...cluster, ...about, ...own, ...injector, ...agents } };
}

/** The chart begins all its names with the same words. */
function prefixOf(deployments: readonly string[]): string {
  const [first = ''] = deployments;
  return first.replace(/-(operator|webhook|control-plane)$/, '');
}

/** Where the webhook configurations of the product lead; nothing where they may not be read. */
async function elsewhereOf(client: KubeClient): Promise<string[]> {
  const fact = await look('list mutatingwebhookconfigurations', () =>
    listObjects(client, INJECTORS, { labelSelector: CHART_LABEL }),
  );
  if (!fact.known) return [];
  const namespaces = fact.value.items
    .flatMap(({ webhooks = [] }) => webhooks)
    .flatMap(({ clientConfig }) => clientConfig.service?.namespace ?? []);
  return [...new Set(namespaces)];
}
