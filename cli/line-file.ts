import { open } from 'node:fs/promises';

export interface FileLine {
  /** Without the newline, cut after the maximum. */
  text: string;
  /** A newline follows. */
  isComplete: boolean;
}

/** The lines of a file of any size. At most `max` characters of a line, and one more if it is longer, are kept in memory. */
export async function* linesOf(path: string, max: number): AsyncGenerator<FileLine> {
  await using file = await open(path, 'r');
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of file.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
    const parts = decoder.decode(chunk, { stream: true }).split('\n');
    parts[0] = rest + parts[0];
    rest = (parts.pop() ?? '').slice(0, max + 1);
    for (const text of parts) yield { text: text.slice(0, max + 1), isComplete: true };
  }
  rest += decoder.decode();
  if (rest !== '') yield { text: rest, isComplete: false };
}
