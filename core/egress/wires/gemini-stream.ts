import { isRecord, own } from '../../untrusted/fields.ts';
import type { CallVerdict, Json } from '../model-wire.ts';
import { NOT_A_CALL, type AnswerCall, type AnswerCalls } from './answer-calls.ts';
import { argumentsOf, indexAt, listAt, nameAt, recordAt, recordsAt, stringAt } from './members.ts';
import { usageOf } from './model-usage.ts';
import { noFacts, type StreamEditor } from './stream-filter.ts';

/** Candidates whose calls are kept apart. */
const MAX_CANDIDATES = 256;

interface Candidate {
  /** Of its calls. */
  verdicts: Set<CallVerdict>;
  /** The call that continues in the next part. */
  open: AnswerCall | null;
  isFinished: boolean;
  isReplaced: boolean;
  /** The signature of a removed call: the vendor requires it in the first call of a step. */
  signature: string | null;
}

/** Reads and writes Gemini's answers. Calls are whole, except in streams of arguments (`willContinue`). */
export class GeminiEditor implements StreamEditor {
  readonly calls: AnswerCalls;
  readonly facts = noFacts();
  readonly #message: string;
  readonly #isWhole: boolean;
  readonly #candidates = new Map<number, Candidate>();

  /** `isWhole`: the event is the whole answer, also without a reason for its end. */
  constructor(calls: AnswerCalls, message: string, isWhole = false) {
    this.calls = calls;
    this.#message = message;
    this.#isWhole = isWhole;
  }

  get isChanging(): boolean {
    return this.calls.isChanging;
  }

  read(event: Json): readonly AnswerCall[] {
    this.facts.model ??= nameAt(event, 'modelVersion');
    this.facts.usage = usageOf('gemini', event) ?? this.facts.usage;
    const found = recordsAt(event, 'candidates').flatMap((candidate) => this.#readCandidate(candidate));
    const all = [...this.#candidates.values()];
    this.facts.isComplete = all.length > 0 && all.every(({ isFinished }) => isFinished);
    return found;
  }

  write(event: Json, calls: readonly AnswerCall[]): readonly Json[] | null {
    const candidates = listAt(event, 'candidates') ?? [];
    const ofCalls = calls[Symbol.iterator]();
    const edits = candidates.map((candidate) =>
      isRecord(candidate) ? this.#write(candidate, ofCalls) : candidate,
    );
    if (edits.every((edit, index) => edit === candidates[index])) return null;
    const kept = edits.filter((edit) => edit !== null);
    if (kept.length === 0) return [];
    return [{ ...event, candidates: kept }];
  }

  #candidateAt(candidate: Json): Candidate {
    const index = Math.min(indexAt(candidate) ?? 0, MAX_CANDIDATES);
    const known = this.#candidates.get(index);
    if (known !== undefined) return known;
    const created: Candidate = {
      ...{ verdicts: new Set<CallVerdict>(), open: null, signature: null },
      ...{ isFinished: false, isReplaced: false },
    };
    this.#candidates.set(index, created);
    return created;
  }

  #readCandidate(candidate: Json): AnswerCall[] {
    const state = this.#candidateAt(candidate);
    state.isFinished ||= stringAt(candidate, 'finishReason') !== null;
    const calls = recordsAt(recordAt(candidate, 'content'), 'parts')
      .map(callIn)
      .filter((call) => call !== null);
    return calls.map((call) => this.#readCall(state, call));
  }

  #readCall(state: Candidate, part: Json): AnswerCall {
    const name = nameAt(part, 'name');
    const continues = own(part, 'willContinue') === true;
    if (name === null) {
      const { open } = state;
      if (!continues) state.open = null;
      return open ?? NOT_A_CALL;
    }
    // The parts of streamed arguments have paths: they are not joined, so a rule for arguments removes the call.
    const isPart = continues || own(part, 'partialArgs') !== undefined;
    const text = isPart ? null : argumentsOf(own(part, 'args'));
    const call = this.calls.whole({ id: nameAt(part, 'id'), name, arguments: text });
    state.open = continues ? call : null;
    state.verdicts.add(call.verdict);
    return call;
  }

  /** null: only removed calls were in it. */
  #write(candidate: Json, calls: Iterator<AnswerCall, undefined>): Json | null {
    const state = this.#candidateAt(candidate);
    const content = recordAt(candidate, 'content');
    const parts = listAt(content, 'parts') ?? [];
    const kept = parts.flatMap((part) => partWith(part, state, calls));
    const isLast = this.#isWhole || stringAt(candidate, 'finishReason') !== null;
    const isNoneLeft = state.verdicts.has('remove') && !state.verdicts.has('pass');
    if (isLast && isNoneLeft && !state.isReplaced) {
      state.isReplaced = true;
      kept.push({ text: this.#message });
    }
    if (kept.length === parts.length && kept.every((part, index) => part === parts[index])) return candidate;
    if (kept.length === 0 && !isLast) return null;
    // Gemini ends streams with an empty text as well.
    const left = kept.length === 0 ? [{ text: '' }] : kept;
    return { ...candidate, content: { role: 'model', ...content, parts: left } };
  }
}

const callIn = (part: unknown): Json | null => (isRecord(part) ? recordAt(part, 'functionCall') : null);

/** []: removed. */
function partWith(part: unknown, state: Candidate, calls: Iterator<AnswerCall, undefined>): unknown[] {
  if (!isRecord(part) || callIn(part) === null) return [part];
  const { verdict } = calls.next().value ?? NOT_A_CALL;
  const ofPart = stringAt(part, 'thoughtSignature');
  if (verdict === 'remove') {
    state.signature ??= ofPart;
    return [];
  }
  const { signature } = state;
  if (signature === null) return [part];
  state.signature = null;
  return [ofPart === null ? { ...part, thoughtSignature: signature } : part];
}
