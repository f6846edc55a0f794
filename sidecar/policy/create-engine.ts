import type { PolicyEngine } from '../../core/policy/engine.ts';
import { policyInputOf, type PolicyInput } from '../../core/policy/policy-input.ts';
import { policyOf, type Policy } from '../../core/policy/policy.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { SidecarConfig } from '../config.ts';
import type { CurrentManifest } from '../manifest/current-manifest.ts';
import { Breaker } from './breaker.ts';
import { createBuiltinEngine } from './builtin-engine.ts';
import { CanaryWatch } from './canary-watch.ts';
import { createOpaEngine } from './opa-engine.ts';

/** The engine that the configuration asks for, and what is known of it. */
export interface Engine {
  /** null: none is configured. */
  policyEngine: PolicyEngine | null;
  policy: () => Policy;
  /** false: the engine answers, but not with this agent's rules. */
  isLoaded(): boolean;
  /** Seconds in which requests passed unevaluated because the engine did not answer. */
  failOpenSeconds(): number;
  /** Begins to watch it. */
  start(): void;
  close(): Promise<void>;
}

export interface EngineInput {
  config: Pick<SidecarConfig, 'POLICY_ENGINE' | 'POLICY_URL' | 'POLICY_TIMEOUT_MS'>;
  manifest: CurrentManifest;
  logger: Logger;
  clock: Clock;
  signal: AbortSignal;
}

export function createEngine(input: EngineInput): Engine {
  const { POLICY_ENGINE, POLICY_URL } = input.config;
  const policy = policyInForce(input.manifest);
  if (POLICY_ENGINE === 'opa' && POLICY_URL !== null) return watchedEngine(input, POLICY_URL, policy);
  return {
    policyEngine: POLICY_ENGINE === 'builtin' ? createBuiltinEngine(policy) : null,
    policy,
    isLoaded: () => true,
    failOpenSeconds: () => 0,
    start: () => undefined,
    close: () => Promise.resolve(),
  };
}

function watchedEngine(input: EngineInput, url: URL, policy: () => Policy): Engine {
  const { config, manifest, logger, clock, signal } = input;
  const engine = createOpaEngine({ url, timeoutMs: config.POLICY_TIMEOUT_MS });
  const question = (): PolicyInput => policyInputOf(policy());
  const breaker = new Breaker({ engine, question, clock, logger, signal });
  const canaries = new CanaryWatch({ engine: breaker, policy, clock, logger, signal });
  return {
    policyEngine: breaker,
    policy,
    isLoaded: () => canaries.isLoaded,
    failOpenSeconds: () => breaker.failOpenSeconds,
    start: () => {
      canaries.start();
      manifest.onChange(() => void canaries.ask());
    },
    close: () => engine.close(),
  };
}

/** The policy of the manifest in force, made once for each. */
function policyInForce(current: CurrentManifest): () => Policy {
  let known = { manifest: current.manifest, policy: policyOf(current.manifest) };
  return () => {
    const { manifest } = current;
    if (known.manifest !== manifest) known = { manifest, policy: policyOf(manifest) };
    return known.policy;
  };
}
