/**
 * Cuts a stream of server-sent events into the data of its events, whatever the chunks' borders. Holds one unfinished
 * event of at most `maxLength` UTF-16 units; a longer one is skipped whole.
 */
export interface SseData {
  write(text: string): void;
  /** UTF-16 units of the unfinished event. */
  heldLength(): number;
  /** An event that the stream's end left without its blank line still counts: many servers end so. */
  end(): void;
}

const LINE_END = /\r\n|\n|\r/g;

export function createSseData(
  /** `event`: its name; null: it has none. */
  onData: (data: string, event: string | null) => void,
  maxLength: number,
): SseData {
  /** The unfinished line; only new text is ever searched, so that a long line in small pieces stays cheap. */
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
    // What remains says that the line is not blank, and so not the end of the event.
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

/** What stands behind the colon; one space there is no part of it. */
function valueOf(line: string): string {
  const value = line.slice(line.indexOf(':') + 1);
  return value.startsWith(' ') ? value.slice(1) : value;
}

/** Cuts text into its lines, as `createSseData` does into events: a line of more than `maxLength` units is skipped whole. */
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
