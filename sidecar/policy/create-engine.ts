import { policyInputOf, type PolicyInput } from '../../core/policy/policy-input.ts';
import { builtinEngine, policyOf, type Policy } from '../../core/policy/policy.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { SidecarConfig } from '../config.ts';
import type { CurrentManifest } from '../manifest/current-manifest.ts';
import { Breaker } from './breaker.ts';
import { CanaryWatch } from './canary-watch.ts';
import { createOpaEngine } from './opa-engine.ts';
import type { PolicyEvaluatorOptions } from './policy-evaluator.ts';

/** The configured policy engine and its state. */
export interface Engine extends Pick<PolicyEvaluatorOptions, 'engine' | 'policy' | 'isLoaded'> {
  /** Seconds in which requests passed unevaluated because the engine was unreachable. */
  failOpenSeconds(): number;
  /** Starts the background checks. */
  start(): void;
  close(): Promise<void>;
}

export interface EngineInput {
  config: SidecarConfig;
  manifest: CurrentManifest;
  /** Whether this process has egress lanes; default false. */
  withEgress?: boolean;
  logger: Logger;
  clock: Clock;
  signal: AbortSignal;
}

export function createEngine(input: EngineInput): Engine {
  const { POLICY_ENGINE, POLICY_URL } = input.config;
  const policy = policyInForce(input.manifest);
  if (POLICY_ENGINE === 'opa' && POLICY_URL !== null) return watchedEngine(input, POLICY_URL, policy);
  return {
    engine: POLICY_ENGINE === 'builtin' ? builtinEngine(policy) : null,
    policy,
    isLoaded: () => true,
    failOpenSeconds: () => 0,
    start: () => undefined,
    close: () => Promise.resolve(),
  };
}

function watchedEngine(input: EngineInput, url: URL, policy: () => Policy): Engine {
  const { config, manifest, withEgress = false, logger, clock, signal } = input;
  const { POLICY_TIMEOUT_MS: timeoutMs, POLICY_SOCKET: socketPath } = config;
  const engine = createOpaEngine({ url, timeoutMs, ...(socketPath !== null && { socketPath }) });
  const checkInput = (): PolicyInput => policyInputOf(policy());
  const breaker = new Breaker({ engine, checkInput, clock, logger, signal });
  const canaries = new CanaryWatch({ engine: breaker, policy, withEgress, clock, logger, signal });
  return {
    engine: breaker,
    policy,
    isLoaded: () => canaries.isLoaded,
    failOpenSeconds: () => breaker.failOpenSeconds,
    start: () => {
      canaries.start();
      manifest.onChange(() => void canaries.check());
    },
    close: () => engine.close(),
  };
}

/** The policy of the manifest in force, cached per manifest. */
function policyInForce(current: CurrentManifest): () => Policy {
  let known = { manifest: current.manifest, policy: policyOf(current.manifest) };
  return () => {
    const { manifest } = current;
    if (known.manifest !== manifest) known = { manifest, policy: policyOf(manifest) };
    return known.policy;
  };
}
