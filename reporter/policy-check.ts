import type { PolicyAnswer, PolicyEngine } from '../core/policy/engine.ts';
import { denyPathOf } from '../core/policy/package-name.ts';
import { parseDenials } from '../core/policy/parse-denials.ts';
import { evaluate, policyOf } from '../core/policy/policy.ts';
import type { PolicyInput } from '../core/policy/policy-input.ts';
import type { Manifest } from '../core/manifest/manifest.ts';
import type { UsageTotals } from '../core/usage/usage.ts';
import type { PushClock, PushLogger } from '../push/clock.ts';
import { postJson } from '../push/post-json.ts';
import { describe } from '../push/push-heartbeat.ts';
import { policyInputFrom, type PolicyFacts } from './policy-facts.ts';

/** The declared policy denies the call that the agent is about to make. */
export class PolicyDeniedError extends Error {
  readonly code = 'PLATFORM_POLICY_DENIED';
  /** Denial reasons, sorted, such as `pii_detector_not_invoked`. */
  readonly violations: readonly string[];

  constructor(violations: readonly string[]) {
    super(`the policy denies the call of the model: ${violations.join(', ')}`);
    this.name = 'PolicyDeniedError';
    this.violations = violations;
  }
}

/** With `failClosed`: nobody could say whether the call is allowed. */
export class PolicyUnavailableError extends Error {
  readonly code = 'PLATFORM_POLICY_UNAVAILABLE';

  constructor(reason: string) {
    super(`the policy engine gives no verdict: ${reason}`);
    this.name = 'PolicyUnavailableError';
  }
}

export interface PolicyCheckSettings {
  /** Base URL of the policy engine; null: the rules that the manifest brings are evaluated in this process. */
  url: URL | null;
  /** Without a verdict the call is not made. */
  failClosed: boolean;
  /** For one question to the engine, in milliseconds. */
  timeoutMs: number;
}

export interface PolicyCheckContext {
  settings: PolicyCheckSettings;
  manifest: Manifest;
  /** Today's totals, where the facts name none. */
  totals: () => UsageTotals;
  clock: PushClock;
  logger: PushLogger;
}

/** Failures in a row after which the engine is asked once in so many milliseconds, whoever calls a model meanwhile. */
const MAX_FAILURES = 5;
const PAUSE_MS = 5_000;

/**
 * To be awaited before each call of a model. Resolves: go on. Rejects with PolicyDeniedError, with
 * PolicyUnavailableError (only with `failClosed`), or with TypeError on facts that are none.
 */
export type PolicyCheck = (facts?: PolicyFacts) => Promise<void>;

export function createPolicyCheck(context: PolicyCheckContext): PolicyCheck {
  const { settings, manifest, totals, clock, logger } = context;
  const engine =
    settings.url === null
      ? builtinEngine(manifest)
      : notTooOften(remoteEngine(settings.url, settings.timeoutMs), clock);
  let isAway = false;
  return async (facts = {}) => {
    const answer = await engine.evaluate(
      policyInputFrom(facts, { agentName: manifest.metadata.name, ...totals() }),
    );
    if (answer.state === 'answered') {
      isAway = false;
      if (answer.denials.length > 0) throw new PolicyDeniedError(answer.denials);
      return;
    }
    const reason = answer.state === 'not-loaded' ? 'it does not have the rules of this agent' : answer.reason;
    if (settings.failClosed) throw new PolicyUnavailableError(reason);
    // One warning per outage.
    if (!isAway)
      logger.warn('the policy engine gives no verdict: calls of the model pass unevaluated', { reason });
    isAway = true;
  };
}

function builtinEngine(manifest: Manifest): PolicyEngine {
  const policy = policyOf(manifest);
  return { evaluate: (input) => ({ state: 'answered', denials: evaluate(policy, input) }) };
}

/** A hung engine costs its time-out to the first five calls, and then to one in five seconds. */
function notTooOften(engine: PolicyEngine, clock: PushClock): PolicyEngine {
  let failures = 0;
  let nextMs = 0;
  return {
    evaluate: async (input) => {
      const nowMs = clock.monotonicMs();
      if (failures >= MAX_FAILURES && nowMs < nextMs)
        return { state: 'unreachable', reason: `it gave no answer ${MAX_FAILURES} times in a row` };
      nextMs = nowMs + PAUSE_MS;
      const answer = await engine.evaluate(input);
      failures = answer.state === 'unreachable' ? failures + 1 : 0;
      return answer;
    },
  };
}

/** The path and the question are the sidecar's, so that one engine serves both. */
function remoteEngine(base: URL, timeoutMs: number): PolicyEngine {
  return {
    evaluate: async (input: PolicyInput): Promise<PolicyAnswer> => {
      const url = new URL(base);
      url.pathname = base.pathname.replace(/\/$/, '') + denyPathOf(input.agent_name);
      try {
        const body = JSON.stringify({ input });
        const signal = new AbortController().signal;
        const { status, body: text } = await postJson({
          url,
          bearer: null,
          body,
          ca: null,
          timeoutMs,
          signal,
        });
        if (status === 200) return parseDenials(text);
        return { state: 'unreachable', reason: `the engine answers with status ${status}` };
      } catch (error) {
        return { state: 'unreachable', reason: describe(error) };
      }
    },
  };
}
