import { kagentReferences, type KagentReference } from '../../authoring/import/kagent-references.ts';
import { KubeError, type KubeClient } from '../../kube/client.ts';
import { getObject } from '../../kube/objects.ts';
import type { ObjectKey, Resource } from '../../kube/resources.ts';
import type { CliContext } from '../context.ts';
import { withCluster, type ClusterOptions, type ClusterResult } from './connect.ts';

/** Newest first. */
const VERSIONS = ['v1alpha2', 'v1alpha1'] as const;

const PLURALS: Readonly<Record<KagentReference['kind'] | 'Agent', string>> = {
  Agent: 'agents',
  ModelConfig: 'modelconfigs',
  RemoteMCPServer: 'remotemcpservers',
  ToolServer: 'toolservers',
};

/** Gets an Agent of kagent with the ModelConfig and the MCP servers that it refers to, as the JSON of a List. */
export async function readKagentAgent(
  { namespace, name }: { namespace: string; name: string },
  options: ClusterOptions,
  context: Pick<CliContext, 'env' | 'cwd'>,
): Promise<ClusterResult<string>> {
  return withCluster(options, context, async ({ client }) => {
    for (const version of VERSIONS) {
      const agent = await getObject(client, resourceOf('Agent', version), { namespace, name });
      if (agent === null) continue;
      const items: object[] = [agent];
      for (const reference of kagentReferences(agent, namespace)) {
        const found = await readable(client, resourceOf(reference.kind, version), reference);
        if (found !== null) items.push(found);
      }
      return JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    }
    throw new Error(`the cluster has no Agent of kagent with the name ${namespace}/${name}`);
  });
}

function resourceOf(kind: keyof typeof PLURALS, version: string): Resource<object> {
  return { group: 'kagent.dev', version, plural: PLURALS[kind], kind };
}

/** null: the object does not exist, or the user may not read it. The manifest then has a placeholder. */
async function readable(
  client: KubeClient,
  resource: Resource<object>,
  { namespace, name }: Required<ObjectKey>,
): Promise<object | null> {
  try {
    return await getObject(client, resource, { namespace, name });
  } catch (error) {
    if (error instanceof KubeError && error.status === 403) return null;
    throw error;
  }
}
