import { isRecord, own } from '../../untrusted/fields.ts';
import type { CallDecision, FilterOptions, Json } from '../model-wire.ts';
import { MAX_ARGUMENTS, NOT_A_CALL, type JudgedCall } from './judged-calls.ts';
import { argumentsOf, indexAt, listAt, nameAt, recordAt, recordsAt, stringAt } from './members.ts';
import { usageOf } from './model-usage.ts';
import { PartialArguments, type Budget } from './partial-arguments.ts';
import { CallEditor } from './stream-filter.ts';

/** Candidates whose calls are kept apart. */
const MAX_CANDIDATES = 256;

interface Candidate {
  /** Of its calls that ended. */
  decisions: Set<CallDecision>;
  /** The call that continues in the next part. */
  open: { call: JudgedCall; parts: PartialArguments } | null;
  isFinished: boolean;
  isReplaced: boolean;
  /** The signature of a removed call: the vendor requires it in the first call of a step. */
  signature: string | null;
}

/** Reads and writes Gemini's responses. Calls are whole, except in streams of arguments (`partialArgs`). */
export class GeminiEditor extends CallEditor {
  readonly #isWhole: boolean;
  readonly #candidates = new Map<number, Candidate>();
  readonly #budget: Budget = { left: MAX_ARGUMENTS };

  /** `isWhole`: the event is the whole response, also without a reason for its end. */
  constructor(options: Pick<FilterOptions, 'judge' | 'message'>, isWhole = false) {
    super(options);
    this.#isWhole = isWhole;
  }

  override read(event: Json): readonly JudgedCall[] {
    this.facts.model ??= nameAt(event, 'modelVersion');
    this.facts.usage = usageOf('gemini', event) ?? this.facts.usage;
    const found = recordsAt(event, 'candidates').flatMap((candidate) => this.#readCandidate(candidate));
    const all = [...this.#candidates.values()];
    this.facts.isComplete = all.length > 0 && all.every(({ isFinished }) => isFinished);
    return found;
  }

  override write(event: Json, calls: readonly JudgedCall[]): readonly Json[] | null {
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
      ...{ decisions: new Set<CallDecision>(), open: null, signature: null },
      ...{ isFinished: false, isReplaced: false },
    };
    this.#candidates.set(index, created);
    return created;
  }

  #readCandidate(candidate: Json): JudgedCall[] {
    const state = this.#candidateAt(candidate);
    state.isFinished ||= stringAt(candidate, 'finishReason') !== null;
    const calls = recordsAt(recordAt(candidate, 'content'), 'parts')
      .map(callIn)
      .filter((call) => call !== null);
    return calls.map((call) => this.#readCall(state, call));
  }

  #readCall(state: Candidate, part: Json): JudgedCall {
    const name = nameAt(part, 'name');
    if (name === null) return this.#readPart(state, part);
    this.#end(state);
    if (own(part, 'willContinue') !== true && own(part, 'partialArgs') === undefined) {
      const text = argumentsOf(own(part, 'args'));
      const call = this.calls.whole({
        id: nameAt(part, 'id'),
        name,
        arguments: text,
      });
      state.decisions.add(call.decision);
      return call;
    }
    const call = this.calls.start({ id: nameAt(part, 'id'), name, arguments: null }, false);
    state.open = { call, parts: new PartialArguments(this.#budget) };
    return this.#readPart(state, part);
  }

  /** A part of the open call. */
  #readPart(state: Candidate, part: Json): JudgedCall {
    if (state.open === null) return NOT_A_CALL;
    const { call, parts } = state.open;
    // The arguments of a removed call are not needed.
    if (call.decision !== 'remove') parts.add(part);
    if (own(part, 'willContinue') !== true) this.#end(state);
    return call;
  }

  #end(state: Candidate): void {
    if (state.open === null) return;
    const { call, parts } = state.open;
    state.open = null;
    this.calls.finish(call, parts.text());
    state.decisions.add(call.decision);
  }

  /** null: only removed calls were in it. */
  #write(candidate: Json, calls: Iterator<JudgedCall, undefined>): Json | null {
    const state = this.#candidateAt(candidate);
    const content = recordAt(candidate, 'content');
    const parts = listAt(content, 'parts') ?? [];
    const kept = parts.flatMap((part) => partWith(part, state, calls));
    const isLast = this.#isWhole || stringAt(candidate, 'finishReason') !== null;
    const decisions = new Set([
      ...state.decisions,
      ...(state.open === null ? [] : [state.open.call.decision]),
    ]);
    const isNoneLeft = decisions.has('remove') && !decisions.has('pass');
    if (isLast && isNoneLeft && !state.isReplaced) {
      state.isReplaced = true;
      kept.push({ text: this.message });
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
function partWith(part: unknown, state: Candidate, calls: Iterator<JudgedCall, undefined>): unknown[] {
  if (!isRecord(part) || callIn(part) === null) return [part];
  const { decision } = calls.next().value ?? NOT_A_CALL;
  const ofPart = stringAt(part, 'thoughtSignature');
  if (decision === 'remove') {
    state.signature ??= ofPart;
    return [];
  }
  const { signature } = state;
  if (signature === null) return [part];
  state.signature = null;
  return [ofPart === null ? { ...part, thoughtSignature: signature } : part];
}
