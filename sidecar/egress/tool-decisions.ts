import type { Outcome } from '../../core/shapes/values.ts';
import type { Lane } from '../../core/egress/lanes.ts';
import type { JudgeCall, ModelResponse, ToolCall } from '../../core/egress/model-wire.ts';
import type { EgressDecision } from '../policy/policy-evaluator.ts';
import { outcomeOf, strongest, type EgressPolicy } from './egress-policy.ts';

/** Different tools whose calls in one response are evaluated. A model cannot call more tools than a request offers. */
const MAX_TOOLS = 500;

/** A call as the policy sees it: its tool, and whether its arguments match the constraints. */
interface Subject {
  name: string;
  /** null: the manifest has no constraints for this tool. */
  isInvalid: boolean | null;
}

/** The decisions on the tool calls of one response. Each tool is evaluated once. */
export class ToolDecisions {
  /** Denial reasons, each once. */
  readonly violations = new Set<string>();
  outcome: Outcome = 'notEvaluated';
  readonly #policy: EgressPolicy;
  readonly #lane: Lane;
  readonly #userConfirmed: () => boolean | undefined;
  readonly #decisions = new Map<string, EgressDecision>();
  #pending: Promise<void>[] = [];

  /** `userConfirmed`: whether the user confirmed the actions of the agent's current request, as far as the agent reported it. */
  constructor(policy: EgressPolicy, lane: Lane, userConfirmed: () => boolean | undefined) {
    this.#policy = policy;
    this.#lane = lane;
    this.#userConfirmed = userConfirmed;
  }

  /** For the filter of a response. With a remote engine call `collect` first: a call without a decision passes. */
  readonly judge: JudgeCall = (call) => {
    // Nothing is removed, so nothing has to wait: `collectAll` follows at the end.
    if (!this.#policy.blocks) return 'pass';
    const subject = this.#subjectOf(call);
    if (subject === null) return 'hold';
    this.#evaluate(subject);
    const decision = this.#decisions.get(keyOf(subject));
    const isDenied = decision === undefined || decision.violations.length > 0;
    return isDenied ? 'remove' : 'pass';
  };

  /** For a filter whose frames are not sent: begins the evaluation of every call. */
  readonly collect: JudgeCall = (call) => {
    const subject = this.#subjectOf(call);
    if (subject === null) return 'hold';
    this.#evaluate(subject);
    return 'pass';
  };

  /** Begins the evaluation of the calls of a response. `isComplete`: arguments that are not known were too long. */
  collectAll({ toolCalls, isComplete }: Pick<ModelResponse, 'toolCalls' | 'isComplete'>): void {
    for (const call of toolCalls) {
      const subject = this.#subjectOf(call) ?? (isComplete ? { name: call.name, isInvalid: true } : null);
      if (subject !== null) this.#evaluate(subject);
    }
  }

  /** The evaluations that are not over; null: all are. */
  get pending(): Promise<unknown> | null {
    if (this.#pending.length === 0) return null;
    const all = Promise.all(this.#pending);
    this.#pending = [];
    return all;
  }

  /** null: the arguments decide, and they are not complete. */
  #subjectOf({ name, arguments: text }: ToolCall): Subject | null {
    const check = this.#policy.argumentCheck(name);
    if (check === undefined) return { name, isInvalid: null };
    return text === null ? null : { name, isInvalid: !check(text) };
  }

  #evaluate(subject: Subject): void {
    const key = keyOf(subject);
    if (this.#decisions.has(key) || this.#decisions.size >= MAX_TOOLS) return;
    const { name, isInvalid } = subject;
    const confirmed = this.#userConfirmed();
    const decision = this.#policy.evaluate(
      {
        request_type: 'egress_tool_call',
        tools: [name],
        ...(isInvalid !== null && { invalid_arguments: isInvalid ? [name] : [] }),
        ...(confirmed !== undefined && { user_confirmed: confirmed }),
      },
      this.#lane,
    );
    if (!(decision instanceof Promise)) {
      this.#known(key, decision);
      return;
    }
    // Known as pending, so that the same tool is not evaluated twice.
    this.#decisions.set(key, { violations: [], state: 'none' });
    this.#pending.push(decision.then((late) => this.#known(key, late)));
  }

  #known(key: string, decision: EgressDecision): void {
    this.#decisions.set(key, decision);
    this.outcome = strongest(this.outcome, outcomeOf(decision));
    for (const reason of decision.violations) this.violations.add(reason);
  }
}

const keyOf = ({ name, isInvalid }: Subject): string => `${isInvalid === true ? 'invalid' : 'valid'} ${name}`;
