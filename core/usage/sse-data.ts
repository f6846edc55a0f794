/**
 * Splits a stream of server-sent events into the data of its events, independent of chunk boundaries. Keeps one unfinished
 * event of at most `maxLength` UTF-16 units. A longer event is skipped completely.
 */
export interface SseData {
  write(text: string): void;
  /** UTF-16 units kept of the unfinished event. */
  heldLength(): number;
  /** Ends the stream. A last event without a blank line still counts, because many servers end their streams this way. */
  end(): void;
}

const LINE_END = /\r\n|\n|\r/g;

export function createSseData(
  /** `event`: name of the event; null: no name. */
  onData: (data: string, event: string | null) => void,
  maxLength: number,
): SseData {
  /** The unfinished line. Only new text is searched, so that a long line in small pieces stays cheap. */
  let pieces: string[] = [];
  let data: string[] = [];
  let event: string | null = null;
  let held = 0;
  let skipping = false;
  let afterCarriageReturn = false;

  const finishEvent = (): void => {
    if (data.length > 0 && !skipping) onData(data.join('\n'), event);
    data = [];
    event = null;
    held = 0;
    skipping = false;
  };
  const hold = (piece: string): void => {
    held += piece.length;
    if (!skipping) pieces.push(piece);
    if (held <= maxLength) return;
    skipping = true;
    // The placeholder keeps the line non-blank, because a blank line would end the event.
    [data, pieces] = [[], [':']];
  };
  const finishLine = (): void => {
    const line = pieces.join('');
    pieces = [];
    if (line === '') {
      finishEvent();
      return;
    }
    if (skipping) return;
    if (line.startsWith('data:')) data.push(valueOf(line));
    else {
      held -= line.length;
      if (line.startsWith('event:')) event = valueOf(line);
    }
  };

  const heldLength = (): number => (skipping ? 0 : held);

  return {
    heldLength,
    write(text) {
      if (text === '') return;
      let start = afterCarriageReturn && text.startsWith('\n') ? 1 : 0;
      LINE_END.lastIndex = start;
      for (let found = LINE_END.exec(text); found !== null; found = LINE_END.exec(text)) {
        if (found.index > start) hold(text.slice(start, found.index));
        finishLine();
        start = LINE_END.lastIndex;
      }
      if (start < text.length) hold(text.slice(start));
      afterCarriageReturn = text.endsWith('\r');
    },
    end() {
      if (pieces.length > 0) finishLine();
      finishEvent();
    },
  };
}

/** The text after the colon, without one leading space. */
function valueOf(line: string): string {
  const value = line.slice(line.indexOf(':') + 1);
  return value.startsWith(' ') ? value.slice(1) : value;
}

/** Splits text into lines, like `createSseData` for events. A line longer than `maxLength` units is skipped completely. */
export function createLines(onLine: (line: string) => void, maxLength: number): SseData {
  let pieces: string[] = [];
  let held = 0;
  const finishLine = (): void => {
    if (held > 0 && held <= maxLength) onLine(pieces.join(''));
    pieces = [];
    held = 0;
  };
  const hold = (piece: string): void => {
    held += piece.length;
    if (held > maxLength) pieces = [];
    else pieces.push(piece);
  };
  return {
    heldLength: () => (held > maxLength ? 0 : held),
    write(text) {
      const lines = text.split('\n');
      for (const line of lines.slice(0, -1)) {
        hold(line);
        finishLine();
      }
      hold(lines.at(-1) ?? '');
    },
    end: finishLine,
  };
}
