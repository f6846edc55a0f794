import type { PolicyResult, PolicyEngine } from '../core/policy/engine.ts';
import { denyPathOf } from '../core/policy/package-name.ts';
import { parseDenials } from '../core/policy/parse-denials.ts';
import { builtinEngine, policyOf } from '../core/policy/policy.ts';
import type { PolicyInput } from '../core/policy/policy-input.ts';
import type { Manifest } from '../core/manifest/manifest.ts';
import { describeError } from '../core/untrusted/describe-error.ts';
import type { UsageTotals } from '../core/shapes/usage.ts';
import type { PushClock, PushLogger } from '../push/clock.ts';
import { postJson } from '../push/post-json.ts';
import { policyInputFrom, type PolicyFacts } from './policy-facts.ts';

/** The declared policy denies the model call. */
export class PolicyDeniedError extends Error {
  readonly code = 'PLATFORM_POLICY_DENIED';
  /** Denial reasons, sorted, such as `pii_detector_not_invoked`. */
  readonly violations: readonly string[];

  constructor(violations: readonly string[]) {
    super(`the policy denies the model call: ${violations.join(', ')}`);
    this.name = 'PolicyDeniedError';
    this.violations = violations;
  }

  /** By code: frameworks copy errors, and a program can load the ES module and the CommonJS build. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'PLATFORM_POLICY_DENIED');
  }
}

/** The engine gave no decision on the call. Thrown only with `failClosed`. */
export class PolicyUnavailableError extends Error {
  readonly code = 'PLATFORM_POLICY_UNAVAILABLE';

  constructor(reason: string) {
    super(`no decision from the policy engine: ${reason}`);
    this.name = 'PolicyUnavailableError';
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return hasCode(value, 'PLATFORM_POLICY_UNAVAILABLE');
  }
}

const hasCode = (value: unknown, code: string): boolean =>
  value instanceof Error && 'code' in value && value.code === code;

export interface PolicyCheckSettings {
  /** Base URL of the policy engine; null: the rules of the manifest are evaluated in this process. */
  url: URL | null;
  /** Reject the call if there is no decision. */
  failClosed: boolean;
  /** Timeout of one query to the engine, in milliseconds. */
  timeoutMs: number;
}

export interface PolicyCheckContext {
  settings: PolicyCheckSettings;
  manifest: Manifest;
  /** Today's totals, used if the facts contain none. */
  totals: () => UsageTotals;
  clock: PushClock;
  logger: PushLogger;
}

/** Denials by a fact that is missing. `null` as the fact: unknown, so that these rules give no decision. */
const REQUIRED = new Map<string, keyof PolicyFacts>([
  ['destructive_tool_without_confirmation', 'userConfirmed'],
  ['pii_detector_not_invoked', 'guardrailsInvoked'],
]);

/** After this many failures in a row, the engine is queried only once per `PAUSE_MS`. */
const MAX_FAILURES = 5;
/** Milliseconds. */
const PAUSE_MS = 5_000;

/**
 * Evaluates the policy; await it before each model call. Resolves if the call is allowed. Rejects with PolicyDeniedError, with
 * PolicyUnavailableError (only with `failClosed`), or with TypeError for invalid facts.
 */
export type PolicyCheck = (facts?: PolicyFacts) => Promise<void>;

export function createPolicyCheck(context: PolicyCheckContext): PolicyCheck {
  const { settings, manifest, totals, clock, logger } = context;
  const policy = policyOf(manifest);
  const engine =
    settings.url === null
      ? builtinEngine(() => policy)
      : withPauses(remoteEngine(settings.url, settings.timeoutMs), clock);
  let isUnavailable = false;
  const logged = new Set<string>();
  return async (facts = {}) => {
    const result = await engine.evaluate(
      policyInputFrom(facts, { agentName: manifest.metadata.name, ...totals() }),
    );
    if (result.state === 'answered') {
      isUnavailable = false;
      const { problem } = result;
      if (problem !== undefined && !logged.has(problem))
        logger.warn('policy engine result invalid, counted as a denial', { reason: problem });
      logged.add(problem ?? '');
      const undecided = result.denials.filter((denial) => {
        const fact = REQUIRED.get(denial);
        return fact !== undefined && facts[fact] === null;
      });
      const decided = result.denials.filter((denial) => !undecided.includes(denial));
      if (decided.length > 0) throw new PolicyDeniedError(decided);
      if (undecided.length > 0 && settings.failClosed)
        throw new PolicyUnavailableError(
          `no request is open, so the facts of ${undecided.join(', ')} are unknown`,
        );
      return;
    }
    const reason =
      result.state === 'not-loaded' ? 'the engine does not have the rules of this agent' : result.reason;
    if (settings.failClosed) throw new PolicyUnavailableError(reason);
    // One warning per outage.
    if (!isUnavailable) logger.warn('no policy decision, model calls allowed (fail-open)', { reason });
    isUnavailable = true;
  };
}

/** With a hung engine the first five calls wait for the timeout, then only one call every five seconds. */
function withPauses(engine: PolicyEngine, clock: PushClock): PolicyEngine {
  let failures = 0;
  let nextMs = 0;
  return {
    evaluate: async (input) => {
      const nowMs = clock.monotonicMs();
      if (failures >= MAX_FAILURES && nowMs < nextMs)
        return { state: 'unreachable', reason: `no response ${MAX_FAILURES} times in a row` };
      nextMs = nowMs + PAUSE_MS;
      const result = await engine.evaluate(input);
      failures = result.state === 'unreachable' ? failures + 1 : 0;
      return result;
    },
  };
}

/** Uses the same path and query as the sidecar, so one engine can serve both. */
function remoteEngine(base: URL, timeoutMs: number): PolicyEngine {
  return {
    evaluate: async (input: PolicyInput): Promise<PolicyResult> => {
      const url = new URL(base);
      url.pathname = base.pathname.replace(/\/$/, '') + denyPathOf(input.agent_name);
      try {
        const body = JSON.stringify({ input });
        const { status, body: text } = await postJson({ url, body, timeoutMs });
        if (status === 200) return parseDenials(text);
        return { state: 'unreachable', reason: `the engine responded with status ${status}` };
      } catch (error) {
        return { state: 'unreachable', reason: describeError(error) };
      }
    },
  };
}
