import type { AuditEntry, Outcome } from '../../core/behavior/audit-entry.ts';
import { behaviorVersionOf, isCurrent, type BehaviorVersion } from '../../core/behavior/behavior-version.ts';
import { hasBehavior } from '../../core/behavior/parse-behavior-headers.ts';
import type { PolicyFacts } from '../../core/facts/facts.ts';
import type { PolicyAnswer, PolicyEngine } from '../../core/policy/engine.ts';
import { policyInputOf } from '../../core/policy/policy-input.ts';
import type { Policy } from '../../core/policy/policy.ts';
import type { UsageTotals } from '../../core/usage/usage.ts';

export type PolicyMode = 'track' | 'enforce' | 'off';

/** What became of one request. */
export interface Verdict {
  outcome: Outcome;
  /** Not empty: denied. */
  denials: readonly string[];
}

export interface PolicyEvaluatorOptions {
  mode: PolicyMode;
  /** null: none is configured. */
  engine: PolicyEngine | null;
  /** Of the manifest in force. */
  policy: () => Policy;
  /** false: the engine answers, but not with this agent's rules. */
  isLoaded: () => boolean;
  /** Of all instances of the agent. */
  totals: () => UsageTotals;
  /** Told how long the engine took for an answer, in milliseconds. */
  onAnswer: (durationMs: number, state: PolicyAnswer['state']) => void;
  now: () => number;
}

/** Where everybody in the sidecar asks about policy: knows the facts to tell, and what an answer means for a request. */
export class PolicyEvaluator {
  readonly mode: PolicyMode;
  readonly #options: PolicyEvaluatorOptions;

  #lateDenials = 0;

  constructor(options: PolicyEvaluatorOptions) {
    this.#options = options;
    this.mode = options.mode;
  }

  /** Requests since the start that were denied by what was told outside of their response head. */
  get lateDenials(): number {
    return this.#lateDenials;
  }

  get hasEngine(): boolean {
    return this.#options.engine !== null;
  }

  /**
   * Decides on a response head that reported behavior. null: the proxy evaluates nothing. No promise where the engine
   * has its answer at once.
   */
  judge(entry: AuditEntry): Verdict | Promise<Verdict> | null {
    if (this.#options.engine === null || this.mode === 'off') return null;
    const answer = this.#ask(entry);
    return answer instanceof Promise ? answer.then(verdictOf) : verdictOf(answer);
  }

  /**
   * Looks at an entry again after its head has passed. What is denied only now is written into it as late, and stops
   * nothing. Resolves with what the engine denies; with what is known where it gives no answer.
   */
  async review(entry: AuditEntry): Promise<readonly string[]> {
    if (this.#options.engine === null) return entry.policyViolations ?? [];
    let asked: BehaviorVersion;
    let answer: PolicyAnswer;
    do {
      asked = behaviorVersionOf(entry);
      answer = await this.#ask(entry);
      // More was told meanwhile, by the head or another event: what was true of less is no denial.
    } while (!isCurrent(asked, entry));
    if (answer.state !== 'answered') return entry.policyViolations ?? [];
    const before = new Set(entry.policyViolations);
    const added = answer.denials.filter((reason) => !before.has(reason));
    if (added.length > 0) {
      entry.policyViolations = [...before, ...added];
      if (entry.lateDenial === undefined) this.#lateDenials += 1;
      entry.lateDenial = true;
    }
    return answer.denials;
  }

  /** What a report says of policy: the engine is asked about the newest request that told of its behavior. */
  async facts(entries: readonly AuditEntry[]): Promise<PolicyFacts> {
    if (this.#options.engine === null) return { state: 'none' };
    const answer = await this.#ask(entries.findLast(tellsBehavior));
    if (answer.state === 'unreachable') return { state: 'unreachable' };
    return this.#options.isLoaded() ? answer : { ...answer, state: 'not-loaded' };
  }

  #ask(entry: AuditEntry | undefined): PolicyAnswer | Promise<PolicyAnswer> {
    const { engine, policy, totals, now, onAnswer } = this.#options;
    if (engine === null) return { state: 'unreachable', reason: 'there is no engine' };
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

function verdictOf(answer: PolicyAnswer): Verdict {
  if (answer.state === 'unreachable') return { outcome: 'failOpen', denials: [] };
  if (answer.state === 'not-loaded') return { outcome: 'notEvaluated', denials: [] };
  return { outcome: answer.denials.length > 0 ? 'deny' : 'allow', denials: answer.denials };
}

/** A write to memory is behavior too, which only an event tells. */
function tellsBehavior(entry: AuditEntry): boolean {
  return hasBehavior(entry) || (entry.events ?? []).some(({ type }) => type === 'memory');
}
