// State of an installation that an upgrade must preserve, read with kubectl and the admin API.
import { createHash } from 'node:crypto';
import type { AdminRequest } from './admin-api.ts';
import type { Kubectl } from './kubectl.ts';

export interface Condition {
  type: string;
  status: string;
  lastTransitionTime: string;
}

export interface Observation {
  metadata: { name: string; namespace: string; uid: string };
  status?: Record<string, unknown> & { score?: number; conditions?: Condition[] };
}

export interface ListedAgent {
  agentId: string;
  agentName: string;
  namespace: string;
  lastSeen: string | null;
}

export interface KeptState {
  /** By agent name, like `conditions`, `agentIds` and `proofs`. */
  uids: Record<string, string>;
  conditions: Record<string, Condition[]>;
  agentIds: Record<string, string>;
  proofs: Record<string, unknown>;
  /** SHA-256 of each entry of the Secrets with certificates and keys, so that failed tests do not print them. */
  certificates: Record<string, string>;
  /** SHA-256 of the CA bundle that the API server trusts. */
  trust: string;
}

export interface Installation {
  /** kubectl for the product's namespace. */
  system: Kubectl;
  /** The chart's full name. */
  product: string;
  admin: <T>(path: string, request?: AdminRequest) => Promise<T>;
  observation: (agent: string) => Promise<Observation>;
}

/** Reads the state. Throws if a part of it cannot be read. */
export async function keptState(installation: Installation, agents: readonly string[]): Promise<KeptState> {
  const { system, product, admin, observation } = installation;
  const seen = await Promise.all(agents.map(async (agent) => [agent, await observation(agent)] as const));
  const listed = await admin<ListedAgent[]>('/api/v1/agents');
  const idOf = (agent: string) => listed.find(({ agentName }) => agentName === agent)?.agentId ?? 'none';
  const proofOf = (agent: string) => admin<unknown>(`/api/v1/agents/${agent}/proof`);
  const trust = ['-o', 'jsonpath={.webhooks[*].clientConfig.caBundle}'];
  const certificates = ['webhook-tls', 'control-plane-tls'].map((secret) =>
    digests(system, `${product}-${secret}`),
  );
  return {
    uids: Object.fromEntries(seen.map(([agent, { metadata }]) => [agent, metadata.uid])),
    conditions: Object.fromEntries(seen.map(([agent, { status }]) => [agent, status?.conditions ?? []])),
    agentIds: Object.fromEntries(agents.map((agent) => [agent, idOf(agent)])),
    proofs: Object.fromEntries(await Promise.all(agents.map(async (agent) => [agent, await proofOf(agent)]))),
    certificates: Object.assign({}, ...(await Promise.all(certificates))) as Record<string, string>,
    trust: digest(await system.run('get', 'mutatingwebhookconfiguration', product, ...trust)),
  };
}

const digest = (text: string) => createHash('sha256').update(text).digest('hex');

async function digests(system: Kubectl, secret: string): Promise<Record<string, string>> {
  const { data = {} } = await system.get<{ data?: Record<string, string> }>('secret', secret);
  return Object.fromEntries(
    Object.entries(data).map(([entry, value]) => [`${secret}/${entry}`, digest(value)]),
  );
}
