import { Batch, noLoss, recordedLine, type LineSource, type RecordedLine } from './recorded-line.ts';

/** Bytes of the lines that wait. */
const MAX_BYTES = 2 * 1024 * 1024;

interface Waiting {
  text: string;
  bytes: number;
}

/** Lines that the writer passes on, for a record that is not a file. They are lost with the process. */
export class MemorySource implements LineSource {
  readonly lost = noLoss();
  readonly #accepts: (line: string) => boolean;
  #waiting: Waiting[] = [];
  #bytes = 0;
  /** Lines of the last batch, with those of them that were not valid. */
  #taken = 0;

  constructor(accepts: (line: string) => boolean) {
    this.#accepts = accepts;
  }

  /** Lines without line ends, in the order of the record. Returns at once. */
  readonly add = (lines: readonly string[]): void => {
    for (const text of lines) {
      if (!this.#accepts(text)) continue;
      const bytes = Buffer.byteLength(text) + 1;
      if (this.#bytes + bytes > MAX_BYTES) {
        this.lost.full += 1;
        continue;
      }
      this.#waiting.push({ text, bytes });
      this.#bytes += bytes;
    }
  };

  next(): Promise<readonly RecordedLine[]> {
    const batch = new Batch();
    this.#taken = 0;
    for (const { text, bytes } of this.#waiting) {
      const line = recordedLine(text);
      if (line === null) this.lost.invalid += 1;
      else if (!batch.add(line, bytes)) break;
      this.#taken += 1;
    }
    // Without a batch there is no call of `done`.
    if (batch.lines.length === 0) this.#remove();
    return Promise.resolve(batch.lines);
  }

  done(): Promise<void> {
    this.#remove();
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #remove(): void {
    for (const { bytes } of this.#waiting.slice(0, this.#taken)) this.#bytes -= bytes;
    this.#waiting = this.#waiting.slice(this.#taken);
    this.#taken = 0;
  }
}
