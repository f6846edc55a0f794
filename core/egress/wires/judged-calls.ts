import { cut } from '../../untrusted/fields.ts';
import type { CallDecision, JudgeCall, ToolCall } from '../model-wire.ts';
import { argumentsOf } from './members.ts';

/** Calls of one response that are listed; in streams, further calls count as `remove`. */
export const MAX_CALLS = 1000;

/** UTF-16 units of arguments that are kept of one response: of calls that are held, and of calls that are listed. */
export const MAX_ARGUMENTS = 1024 * 1024;

const MAX_NAME = 256;

/** A part of a call in an event of a stream, or a whole call. */
export interface CallPart {
  id: string | null;
  /** null: not in this part. */
  name: string | null;
  arguments: string | null;
}

/** A call of a stream. */
export interface JudgedCall {
  readonly id: string | null;
  /** Empty: not received yet. */
  readonly name: string;
  readonly decision: CallDecision;
  /** false: the call ended, so further parts follow its decision. */
  readonly isOpen: boolean;
  /** Whether the arguments that were received are complete JSON. */
  isWhole(): boolean;
}

/** Stands for a part that is not a valid call: it passes. */
export const NOT_A_CALL: JudgedCall = {
  id: null,
  name: '',
  decision: 'pass',
  isOpen: false,
  isWhole: () => false,
};

/** Stands for all calls above `MAX_CALLS`. */
const ONE_TOO_MANY: JudgedCall = { ...NOT_A_CALL, decision: 'remove' };

class OpenCall implements JudgedCall {
  id: string | null = null;
  name = '';
  decision: CallDecision = 'hold';
  fact: ToolCall | null = null;
  isOpen = true;
  /** null: too long to be kept. */
  pieces: string[] | null = [];
  length = 0;

  isWhole(): boolean {
    try {
      JSON.parse(this.text() ?? '');
      return true;
    } catch {
      return false;
    }
  }

  text(): string | null {
    return this.pieces?.join('') ?? null;
  }
}

/** The calls of one response, with the decision about each. */
export class JudgedCalls {
  /** In the order of the response. */
  readonly facts: ToolCall[] = [];
  readonly removed: ToolCall[] = [];
  readonly #judge: JudgeCall;
  readonly #open = new Set<OpenCall>();
  #count = 0;
  #heldLength = 0;
  #passedLength = 0;
  #listedLength = 0;
  #isChanging = false;

  constructor(judge: JudgeCall) {
    this.#judge = judge;
  }

  /** false: every call so far passed at its first event, so no event of the stream is changed. */
  get isChanging(): boolean {
    return this.#isChanging;
  }

  /** Further calls in parts count as `remove`. */
  get isFull(): boolean {
    return this.#count >= MAX_CALLS;
  }

  /** A call whose first part was received. `hasText` false: its arguments are known only at `finish`. */
  start(part: CallPart, hasText = true): JudgedCall {
    if (this.isFull) {
      this.#isChanging = true;
      return ONE_TOO_MANY;
    }
    this.#count += 1;
    const call = new OpenCall();
    if (!hasText) call.pieces = null;
    this.#open.add(call);
    this.#isChanging ||= part.name === null;
    this.add(call, part);
    return call;
  }

  /** A further part. After the end of the call, its parts follow the decision. */
  add(started: JudgedCall, { id, name, arguments: text }: CallPart): void {
    if (!(started instanceof OpenCall) || !started.isOpen) return;
    started.id ??= id;
    if (started.fact !== null) started.fact.id = started.id;
    if (name !== null && name !== started.name) this.#rename(started, name);
    if (text !== null && text !== '') this.#keep(started, text);
  }

  /** The end of a call. `whole`: its arguments, where the vendor repeats them; null: the parts together. */
  finish(started: JudgedCall, whole: string | null = null): void {
    if (!(started instanceof OpenCall) || !started.isOpen) return;
    started.isOpen = false;
    this.#open.delete(started);
    const { fact, decision } = started;
    if (decision === 'hold') this.#heldLength -= started.length;
    const text = decision === 'remove' ? null : (whole ?? started.text());
    started.pieces = [];
    if (fact === null) {
      // Without a name it is not a call that an agent could run.
      started.decision = 'pass';
      return;
    }
    if (text !== null && text.length <= MAX_ARGUMENTS) fact.arguments = argumentsOf(text);
    if (decision === 'hold') {
      const isPassed = fact.arguments !== null && this.#judge(fact) === 'pass';
      this.#settle(started, isPassed ? 'pass' : 'remove');
    }
    this.#list(fact);
  }

  /** The end of the response. */
  finishAll(): void {
    for (const call of this.#open) this.finish(call);
  }

  /** Too much is held: the held calls count as `remove`. */
  releaseHeld(): void {
    for (const call of this.#open) this.#release(call);
  }

  /** A call that is complete in one event, or in the response. `arguments` null: they cannot be read. */
  whole({ id, name, arguments: text }: CallPart): JudgedCall {
    if (name === null) return NOT_A_CALL;
    const fact: ToolCall = { id, name, arguments: text };
    if (this.facts.length < MAX_CALLS) this.facts.push(fact);
    const decision = this.#judge(fact);
    this.#list(fact);
    if (decision === 'pass') return { ...NOT_A_CALL, id, name };
    this.#isChanging = true;
    if (this.removed.length < MAX_CALLS) this.removed.push(fact);
    return { ...NOT_A_CALL, id, name, decision: 'remove' };
  }

  /** Keeps the arguments of the call in the list, unless the list is too long. */
  #list(fact: ToolCall): void {
    this.#listedLength += fact.arguments?.length ?? 0;
    if (this.#listedLength > MAX_ARGUMENTS) fact.arguments = null;
  }

  /** The name was received, or continues: clients join the parts of a name. */
  #rename(call: OpenCall, part: string): void {
    call.name = cut(call.name + part, MAX_NAME);
    if (call.fact === null) {
      call.fact = { id: call.id, name: call.name, arguments: null };
      this.facts.push(call.fact);
    }
    call.fact.name = call.name;
    if (call.decision !== 'remove') this.#settle(call, this.#judge(call.fact));
  }

  #settle(call: OpenCall, decision: CallDecision): void {
    if (call.isOpen && call.decision === 'hold' && decision !== 'hold') this.#heldLength -= call.length;
    if (call.isOpen && call.decision !== 'hold' && decision === 'hold') this.#heldLength += call.length;
    call.decision = decision;
    this.#isChanging ||= decision !== 'pass';
    if (decision !== 'remove') return;
    call.pieces = null;
    if (call.fact !== null) this.removed.push(call.fact);
  }

  #keep(call: OpenCall, text: string): void {
    if (call.decision === 'remove') return;
    call.length += text.length;
    if (call.decision === 'hold') {
      this.#heldLength += text.length;
      call.pieces?.push(text);
      if (this.#heldLength > MAX_ARGUMENTS) this.#release(call);
      return;
    }
    this.#passedLength += text.length;
    if (this.#passedLength > MAX_ARGUMENTS) call.pieces = null;
    else call.pieces?.push(text);
  }

  #release(call: OpenCall): void {
    if (call.decision === 'hold') this.#settle(call, call.fact === null ? 'pass' : 'remove');
  }
}

/** Whether the message has to replace the calls: calls were removed, and none is left. */
export function isNoneLeft(calls: readonly JudgedCall[]): boolean {
  return (
    calls.some(({ decision }) => decision === 'remove') &&
    calls.every(({ decision }) => decision === 'remove')
  );
}
