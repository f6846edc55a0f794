import { isRecord } from '../../untrusted/fields.ts';
import type { FilterOptions, Frame, Json, ModelResponse, StreamFilter } from '../model-wire.ts';
import { frameLike } from '../sse-frames.ts';
import { JudgedCalls, type JudgedCall } from './judged-calls.ts';
import { exactJson, readJson } from './exact-json.ts';
import { jsonText, stringAt } from './members.ts';
import { Repetitions, type Repetition } from '../../usage/repeated-event.ts';

/** Bytes of frames that are held. Above it, the held calls count as `remove`. */
export const MAX_HELD_BYTES = 8 * 1024 * 1024;

/** Reads and writes the events of one stream in one protocol. */
export interface StreamEditor {
  readonly calls: JudgedCalls;
  readonly facts: Omit<ModelResponse, 'toolCalls'>;
  /** false: `write` would change nothing. */
  readonly isChanging: boolean;
  /** Reads the facts of an event. Returns the calls that the event is part of, in the order in which `write` needs them. */
  read(event: Json): readonly JudgedCall[];
  /**
   * The events for the client instead of this one, in the order of the stream; null: unchanged. All calls of the event are
   * decided. `data`: the event's text. A string in the result is the text of an event.
   */
  write(event: Json, calls: readonly JudgedCall[], data: string): readonly (Json | string)[] | null;
  /**
   * Called after `read` has returned no calls: whether the same event has no effect when it follows directly, also with other texts
   * under some keys. null: it may have one. Absent: for all events.
   */
  repetition?(event: Json, data: string): Repetition | null;
}

/** What the editors of all protocols have. This one changes nothing: the protocol has no calls. */
export class CallEditor implements StreamEditor {
  readonly calls: JudgedCalls;
  readonly facts: StreamEditor['facts'] = { model: null, usage: null, isComplete: false };
  /** Text for the agent instead of the removed calls. */
  readonly message: string;

  constructor({ judge, message }: Pick<FilterOptions, 'judge' | 'message'>) {
    this.calls = new JudgedCalls(judge);
    this.message = message;
  }

  get isChanging(): boolean {
    return this.calls.isChanging;
  }

  read(_event: Json): readonly JudgedCall[] {
    return NO_CALLS;
  }

  write(_event: Json, _calls: readonly JudgedCall[], _data: string): ReturnType<StreamEditor['write']> {
    return null;
  }
}

const NO_CALLS: readonly JudgedCall[] = [];

interface BufferedFrame {
  frame: Frame;
  event: Json | null;
  calls: readonly JudgedCall[];
}

/** The data of OpenAI's last event. */
const DONE = '[DONE]';

/**
 * The filter of a stream. Frames pass in order: while a call is held, it and everything after it waits. Frames that are not
 * JSON objects pass unchanged.
 */
export function createStreamFilter(editor: StreamEditor): StreamFilter {
  const { calls, facts } = editor;
  let queue: BufferedFrame[] = [];
  let heldBytes = 0;
  const repetitions = new Repetitions();

  /** The frames of an event that repeats the one before it; null: it does not. */
  const passedAgain = (frame: Frame): readonly Frame[] | null => {
    const { data, event } = frame;
    const repeated = data === null || queue.length > 0 ? null : repetitions.matching(data);
    if (repeated === null || data === null) return null;
    return [repeated.edit === null ? frame : frameLike(frame, repeated.edit(data), event)];
  };

  const written = ({ frame, event, calls: ofEvent }: BufferedFrame): readonly Frame[] => {
    const data = frame.data ?? '';
    const events =
      event === null || !editor.isChanging ? null : editor.write(exactJson(event, data), ofEvent, data);
    return events === null ? [frame] : events.flatMap((each) => frameOf(frame, each));
  };
  const released = (): readonly Frame[] => {
    const waiting = queue.findIndex((held) => held.calls.some(isHeld));
    const ready = waiting < 0 ? queue : queue.slice(0, waiting);
    if (ready.length === 0) return [];
    queue = queue.slice(ready.length);
    heldBytes -= ready.reduce((sum, { frame }) => sum + frame.raw.length, 0);
    return ready.flatMap(written);
  };

  return {
    push(frame) {
      const again = passedAgain(frame);
      if (again !== null) return again;
      const event = eventOf(frame);
      const held: BufferedFrame = { frame, event, calls: event === null ? NO_CALLS : editor.read(event) };
      if (frame.data !== null) {
        const isRepeatable = event !== null && held.calls.length === 0 && repetitions.areExpected;
        const repetition = isRepeatable ? (editor.repetition?.(event, frame.data) ?? null) : null;
        repetitions.remember(frame.data, repetition);
      }
      if (frame.data === DONE) calls.finishAll();
      if (queue.length === 0 && !held.calls.some(isHeld)) return written(held);
      queue.push(held);
      heldBytes += frame.raw.length;
      if (heldBytes > MAX_HELD_BYTES) calls.releaseHeld();
      return released();
    },
    get heldBytes() {
      return heldBytes;
    },
    release() {
      calls.releaseHeld();
      return released();
    },
    end() {
      calls.finishAll();
      return released();
    },
    get response() {
      return { ...facts, toolCalls: calls.facts };
    },
    removed: calls.removed,
  };
}

const isHeld = ({ decision }: JudgedCall): boolean => decision === 'hold';

function eventOf({ data }: Frame): Json | null {
  // A text that is not JSON costs an exception, which every stream of OpenAI would have.
  const event = data === null || data === DONE ? null : readJson(data);
  return isRecord(event) ? event : null;
}

const EVENT_NAME = /^[\w.-]+$/;

/** Vendors that name their events use the event's `type`. An event that cannot be written is left out. */
function frameOf(frame: Frame, event: Json | string): Frame[] {
  if (typeof event === 'string') return [frameLike(frame, event, frame.event)];
  const data = jsonText(event);
  const type = stringAt(event, 'type');
  const name = frame.event !== null && type !== null && EVENT_NAME.test(type) ? type : frame.event;
  return data === null ? [] : [frameLike(frame, data, name)];
}
