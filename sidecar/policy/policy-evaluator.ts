import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { behaviorVersionOf, isCurrent, type BehaviorVersion } from '../../core/behavior/behavior-version.ts';
import { hasBehavior, reportsBehavior } from '../../core/behavior/parse-behavior-headers.ts';
import type { PolicyFacts } from '../../core/facts/facts.ts';
import type { PolicyEngine, PolicyResult } from '../../core/policy/engine.ts';
import type { PolicyMode } from '../../core/shapes/values.ts';
import { egressInputOf, type EgressQuery } from '../../core/policy/egress-input.ts';
import { policyInputOf, type PolicyInput } from '../../core/policy/policy-input.ts';
import type { Policy } from '../../core/policy/policy.ts';
import { NOT_EVALUATED, decisionOf, type Decision } from '../../core/policy/decision.ts';
import type { UsageTotals } from '../../core/shapes/usage.ts';

export interface PolicyEvaluatorOptions {
  mode: PolicyMode;
  /** null: no engine is configured. */
  engine: PolicyEngine | null;
  /** The policy of the manifest in force. */
  policy: () => Policy;
  /** false: the engine responds, but without this agent's rules. */
  isLoaded: () => boolean;
  /** Today's usage of all instances of the agent. */
  totals: () => UsageTotals;
  /** Called after each review with the denial reasons. */
  onReviewed: (entry: AuditEntry, denials: readonly string[]) => void;
  /** Called after each query with its duration in milliseconds. */
  onResult: (durationMs: number, state: PolicyResult['state']) => void;
  now: () => number;
}

/** The engine's result for a call on an egress lane. */
export interface EgressDecision {
  /** Denial reasons; empty if the call is allowed or was not evaluated. */
  violations: readonly string[];
  /** `none`: no engine is configured. All other states than `answered` mean that the call was not evaluated. */
  state: PolicyResult['state'] | 'none';
}

/** The single place for policy queries: builds the input and evaluates the engine's result. */
export class PolicyEvaluator {
  readonly mode: PolicyMode;
  readonly #options: PolicyEvaluatorOptions;

  constructor(options: PolicyEvaluatorOptions) {
    this.#options = options;
    this.mode = options.mode;
  }

  /** Today's usage of all instances of the agent. */
  get totals(): UsageTotals {
    return this.#options.totals();
  }

  get hasEngine(): boolean {
    return this.#options.engine !== null;
  }

  /**
   * The decision on a response head; `platform`: the product's own headers in that head. A head without behavior is not
   * evaluated. Synchronous if the engine is synchronous.
   */
  judge(entry: AuditEntry, platform: ReadonlyMap<string, string>): Decision | Promise<Decision> {
    const { mode } = this;
    if (this.#options.engine === null || mode === 'off' || !reportsBehavior(platform)) return NOT_EVALUATED;
    const result = this.#query(entry);
    return result instanceof Promise
      ? result.then((late) => decisionOf(late, mode))
      : decisionOf(result, mode);
  }

  /**
   * Evaluates an entry again after its response head was sent. New denials are late and do not block anything. Resolves with
   * the engine's denials; with the known denials if the engine is unreachable.
   */
  async review(entry: AuditEntry): Promise<readonly string[]> {
    let evaluated: BehaviorVersion;
    let result: PolicyResult;
    do {
      evaluated = behaviorVersionOf(entry);
      result = await this.#query(entry);
      // Evaluate again if the head or another event added behavior meanwhile, since the result may be outdated.
    } while (!isCurrent(evaluated, entry));
    const denials = result.state === 'answered' ? result.denials : (entry.policyViolations ?? []);
    this.#options.onReviewed(entry, denials);
    return denials;
  }

  /**
   * Evaluates a call on an egress lane, in any mode: the caller decides what a violation or an unreachable engine means for its
   * lane. Synchronous if the engine is synchronous. Failures count in the breaker like those of other queries.
   */
  evaluateEgress(query: EgressQuery): EgressDecision | Promise<EgressDecision> {
    if (this.#options.engine === null) return { violations: [], state: 'none' };
    const { policy, totals } = this.#options;
    const result = this.#ask(egressInputOf(policy().agentName, query, totals()));
    return result instanceof Promise ? result.then(egressDecisionOf) : egressDecisionOf(result);
  }

  /** The policy facts of a report: the engine's result for the newest request with reported behavior. */
  async facts(entries: readonly AuditEntry[]): Promise<PolicyFacts> {
    if (this.#options.engine === null) return { state: 'none' };
    const result = await this.#query(entries.findLast(hasReportedBehavior));
    if (result.state === 'unreachable') return { state: 'unreachable' };
    return this.#options.isLoaded() ? result : { ...result, state: 'not-loaded' };
  }

  #query(entry: AuditEntry | undefined): PolicyResult | Promise<PolicyResult> {
    const { policy, totals } = this.#options;
    const { agentName, memory } = policy();
    const facts = { agentName, memory, totals: totals() };
    return this.#ask(policyInputOf(entry === undefined ? facts : { ...facts, entry }));
  }

  #ask(input: PolicyInput): PolicyResult | Promise<PolicyResult> {
    const { engine, now, onResult } = this.#options;
    if (engine === null) return { state: 'unreachable', reason: 'no engine is configured' };
    const startedAt = now();
    const result = engine.evaluate(input);
    if (!(result instanceof Promise)) {
      onResult(now() - startedAt, result.state);
      return result;
    }
    return result.then((late) => {
      onResult(now() - startedAt, late.state);
      return late;
    });
  }
}

/** Includes memory writes, which only events report. */
function hasReportedBehavior(entry: AuditEntry): boolean {
  return hasBehavior(entry) || (entry.events ?? []).some(({ type }) => type === 'memory');
}

function egressDecisionOf(result: PolicyResult): EgressDecision {
  return { violations: result.state === 'answered' ? result.denials : [], state: result.state };
}
