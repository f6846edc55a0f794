import type { AuditEntry } from '../../core/behavior/audit-entry.ts';
import { behaviorVersionOf, isCurrent, type BehaviorVersion } from '../../core/behavior/behavior-version.ts';
import { hasBehavior, reportsBehavior } from '../../core/behavior/parse-behavior-headers.ts';
import type { PolicyFacts } from '../../core/facts/facts.ts';
import type { PolicyAnswer, PolicyEngine, PolicyMode } from '../../core/policy/engine.ts';
import { policyInputOf } from '../../core/policy/policy-input.ts';
import type { Policy } from '../../core/policy/policy.ts';
import { NOT_EVALUATED, verdictOf, type Verdict } from '../../core/policy/verdict.ts';
import type { UsageTotals } from '../../core/usage/usage.ts';

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
  onAnswer: (durationMs: number, state: PolicyAnswer['state']) => void;
  now: () => number;
}

/** The single place for policy queries: builds the input and evaluates the engine's result. */
export class PolicyEvaluator {
  readonly mode: PolicyMode;
  readonly #options: PolicyEvaluatorOptions;

  constructor(options: PolicyEvaluatorOptions) {
    this.#options = options;
    this.mode = options.mode;
  }

  get hasEngine(): boolean {
    return this.#options.engine !== null;
  }

  /**
   * The verdict on a response head; `platform`: the product's own headers in that head. A head without behavior is not
   * evaluated. Synchronous if the engine is synchronous.
   */
  judge(entry: AuditEntry, platform: ReadonlyMap<string, string>): Verdict | Promise<Verdict> {
    const { mode } = this;
    if (this.#options.engine === null || mode === 'off' || !reportsBehavior(platform)) return NOT_EVALUATED;
    const answer = this.#query(entry);
    return answer instanceof Promise ? answer.then((late) => verdictOf(late, mode)) : verdictOf(answer, mode);
  }

  /**
   * Evaluates an entry again after its response head was sent. New denials are late and do not block anything. Resolves with
   * the engine's denials; with the known denials if the engine is unreachable.
   */
  async review(entry: AuditEntry): Promise<readonly string[]> {
    let evaluated: BehaviorVersion;
    let answer: PolicyAnswer;
    do {
      evaluated = behaviorVersionOf(entry);
      answer = await this.#query(entry);
      // Evaluate again if the head or another event added behavior meanwhile, since the result may be outdated.
    } while (!isCurrent(evaluated, entry));
    const denials = answer.state === 'answered' ? answer.denials : (entry.policyViolations ?? []);
    this.#options.onReviewed(entry, denials);
    return denials;
  }

  /** The policy facts of a report: the engine's result for the newest request with reported behavior. */
  async facts(entries: readonly AuditEntry[]): Promise<PolicyFacts> {
    if (this.#options.engine === null) return { state: 'none' };
    const answer = await this.#query(entries.findLast(hasReportedBehavior));
    if (answer.state === 'unreachable') return { state: 'unreachable' };
    return this.#options.isLoaded() ? answer : { ...answer, state: 'not-loaded' };
  }

  #query(entry: AuditEntry | undefined): PolicyAnswer | Promise<PolicyAnswer> {
    const { engine, policy, totals, now, onAnswer } = this.#options;
    if (engine === null) return { state: 'unreachable', reason: 'no engine is configured' };
    const { agentName, memory } = policy();
    const input = policyInputOf({ agentName, memory, totals: totals(), ...(entry && { entry }) });
    const startedAt = now();
    const answer = engine.evaluate(input);
    if (!(answer instanceof Promise)) {
      onAnswer(now() - startedAt, answer.state);
      return answer;
    }
    return answer.then((late) => {
      onAnswer(now() - startedAt, late.state);
      return late;
    });
  }
}

/** Includes memory writes, which only events report. */
function hasReportedBehavior(entry: AuditEntry): boolean {
  return hasBehavior(entry) || (entry.events ?? []).some(({ type }) => type === 'memory');
}
