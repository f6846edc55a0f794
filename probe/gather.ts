import type { EnvironmentFacts, Facts, PolicyFacts, SecretFacts } from '../core/facts/facts.ts';
import { referencesIn, secretVariable, type Reference } from '../core/manifest/references.ts';
import type { ProofRecord } from '../core/shapes/proof.ts';
import { probeAgent, type AgentFacts } from './agent.ts';
import { endpointPaths } from './endpoint-path.ts';
import { reachFacts, type ReachInput } from './reach-facts.ts';
import { foundSecrets, readableFiles, type Environment, type ReferenceSources } from './references.ts';

/** What this process can read of the agent's environment and files. */
export type AgentEnvironment =
  /** This process shares them. `folder`: the manifest's directory; `secretDir`: PLATFORM_SECRET_DIR. */
  | { kind: 'own'; variables: Environment; folder: string | null; secretDir: string | null }
  /** Only the names of the agent container's variables are known; `partial`: it may have more (`envFrom`). */
  | { kind: 'declared'; names: ReadonlySet<string>; partial: boolean };

/** What the agent was seen to do; `egress` is absent or null: no lane and no census. */
export type Observed = Pick<Facts, 'behavior' | 'reported' | 'egress'>;

/** The inputs of one report; an absent source is not queried. */
export interface GatherInput extends Omit<ReachInput, 'sources' | 'signal'> {
  /** The agent's own port; null: the port is not probed (reporter, CLI). */
  upstreamUrl: URL | null;
  environment: AgentEnvironment;
  now: () => Date;
  /** Called after the probes: the agent acts meanwhile, and the probes are connections themselves. */
  observed?: () => Observed;
  /** Called once; a rejection or one second without a result counts as an unreachable engine. */
  policy?: (signal: AbortSignal) => Promise<PolicyFacts>;
  proofs?: readonly ProofRecord[];
  podAgentName?: string | null;
  /** Why the manifest file on disk is not the manifest in force. */
  manifestInvalid?: string | null;
  /** The agent's tool registry, if this process is the agent; null: no registry was passed. */
  registeredTools?: ReadonlySet<string> | null;
  /** On abort, `gather` rejects with the signal's reason. */
  signal?: AbortSignal;
}

/** Limit for all probes together; each probe has its own, shorter limit. */
const TOTAL_MS = 5500;
const POLICY_MS = 1000;

/** Runs all probes of one report in parallel, within six seconds. Rejects only when `signal` aborts. */
export async function gather(input: GatherInput): Promise<Facts> {
  input.signal?.throwIfAborted();
  const limit = AbortSignal.timeout(TOTAL_MS);
  const signal = input.signal === undefined ? limit : AbortSignal.any([limit, input.signal]);
  const references = referencesIn(input.manifest);
  const [agent, environment, reach, policy] = await Promise.all([
    agentFacts(input, signal),
    environmentFacts(input.environment, references),
    reachFacts({ ...input, sources: sourcesOf(input), signal }),
    queryPolicy(input.policy, signal),
  ]);
  input.signal?.throwIfAborted();
  return {
    at: input.now(),
    ...agent,
    ...environment,
    reach,
    behavior: { sampled: 0, guardrailsInvoked: new Map() },
    policy,
    proofs: input.proofs ?? [],
    podAgentName: input.podAgentName ?? null,
    manifestInvalid: input.manifestInvalid ?? null,
    ...input.observed?.(),
    ...(input.registeredTools === undefined ? {} : { registeredTools: input.registeredTools }),
  };
}

/** The facts of an agent whose port is not probed. */
export const NO_AGENT: AgentFacts = {
  agentReport: null,
  invalidReport: null,
  upstream: null,
  health: null,
  capabilities: null,
  agentCard: null,
};

async function agentFacts(input: GatherInput, signal: AbortSignal): Promise<AgentFacts> {
  const { manifest, upstreamUrl, now } = input;
  if (upstreamUrl === null) return NO_AGENT;
  const endpoints = await endpointPaths(manifest, sourcesOf(input));
  return probeAgent(upstreamUrl, { agentName: manifest.metadata.name, endpoints, now }, signal);
}

async function environmentFacts(
  environment: AgentEnvironment,
  references: readonly Reference[],
): Promise<Pick<Facts, 'environment' | 'files' | 'secrets'>> {
  if (environment.kind === 'declared')
    return { environment, files: new Map(), secrets: declaredSecrets(environment, references) };
  const { variables, folder, secretDir } = environment;
  // An empty variable counts as unset, because charts render a missing value as an empty string.
  const names = new Set(Object.keys(variables).filter((name) => (variables[name] ?? '') !== ''));
  const [files, secrets] = await Promise.all([
    folder === null ? new Map<string, 'readable'>() : readableFiles(folder, references),
    foundSecrets(variables, secretDir, references),
  ]);
  return { environment: { kind: 'own', names }, files, secrets };
}

/** Without values, a secret is known to be missing only if the agent reads its secrets from the listed variables. */
function declaredSecrets(
  environment: EnvironmentFacts & { kind: 'declared' },
  references: readonly Reference[],
): SecretFacts {
  const secrets = references.filter(({ kind }) => kind === 'secret').map(({ name }) => name);
  const found = new Set(secrets.filter((name) => environment.names.has(secretVariable(name))));
  const isComplete = !environment.partial && !environment.names.has('PLATFORM_SECRET_DIR');
  const isCertain = found.size > 0 && (isComplete || secrets.every((name) => found.has(name)));
  return isCertain ? { backend: 'env', found } : { backend: 'none' };
}

/** The result of a policy engine within one second. Never rejects. */
export async function queryPolicy(policy: GatherInput['policy'], signal: AbortSignal): Promise<PolicyFacts> {
  if (policy === undefined) return { state: 'none' };
  const limit = AbortSignal.any([signal, AbortSignal.timeout(POLICY_MS)]);
  const late = new Promise<PolicyFacts>((resolve) => {
    limit.addEventListener('abort', () => resolve({ state: 'unreachable' }), { once: true });
  });
  return Promise.race([policy(limit).catch((): PolicyFacts => ({ state: 'unreachable' })), late]);
}

/** In a cluster no reference is resolved here, because this process's variables are not the agent's. */
function sourcesOf({ environment, now }: GatherInput): ReferenceSources {
  if (environment.kind === 'declared') return { env: null, folder: null, secretDir: null, now };
  const { variables, folder, secretDir } = environment;
  return { env: variables, folder, secretDir, now };
}
