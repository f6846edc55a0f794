import type { Transform } from 'node:stream';
import type { ResponseBody } from './response-body.ts';
import type { BodyStep } from './body-step.ts';
import { DECODER_OF, type Coding } from './codings.ts';

/** Bytes of a coded chunk that are decoded at once: a few bytes can stand for many. */
const SLICE_BYTES = 1024;
/** A slice that stands for more is an attack: text has a ratio of 1 to 10, and gzip can have 1 to 1,000. */
const MAX_DECODED_BYTES = 8 * 1024 * 1024;

/** A body with a content coding, although the lane requests none. It is decoded, read and sent without the coding. */
export class DecodedBody implements Pick<ResponseBody, 'push' | 'end'> {
  readonly #body: ResponseBody;
  readonly #decoder: Transform;
  #decoded: Buffer[] = [];
  #bytes = 0;
  #reject: (error: Error) => void = () => undefined;

  /** `start`: the first bytes of the coded body. */
  constructor(body: ResponseBody, coding: Coding, start: Buffer) {
    this.#body = body;
    this.#decoder = DECODER_OF[coding](start);
    this.#decoder
      .on('error', (error) => this.#reject(error))
      .on('data', (piece: Buffer) => {
        this.#bytes += piece.length;
        if (this.#bytes > MAX_DECODED_BYTES)
          this.#decoder.destroy(new Error('the body is too large when decoded'));
        else this.#decoded.push(piece);
      });
  }

  async push(chunk: Buffer): Promise<BodyStep> {
    let step = NOTHING;
    for (let at = 0; at < chunk.length && !isLast(step); at += SLICE_BYTES) {
      await this.#until((done) => this.#decoder.write(chunk.subarray(at, at + SLICE_BYTES), done));
      step = await this.#after(step);
    }
    return step;
  }

  async end(): Promise<BodyStep> {
    // Bytes behind the coded data have ended the decoder already.
    if (!this.#decoder.readableEnded) await this.#until((done) => this.#decoder.once('end', done).end());
    const step = await this.#after(NOTHING);
    return isLast(step) ? step : joined(step, await this.#body.end());
  }

  /** The response is over. */
  close(): void {
    this.#decoder.destroy();
  }

  /** Waits for `done`, or for an error: after an error, Node.js does not report the end of a write. */
  #until(run: (done: () => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      run(resolve);
    });
  }

  /** The step, and what passes of the bytes that were decoded since. */
  async #after(first: BodyStep): Promise<BodyStep> {
    if (this.#decoder.errored !== null) throw this.#decoder.errored;
    const pieces = this.#decoded;
    [this.#decoded, this.#bytes] = [[], 0];
    let step = first;
    for (const piece of pieces) if (!isLast(step)) step = joined(step, await this.#body.push(piece));
    return step;
  }
}

const NOTHING: BodyStep = { chunks: [], isChanged: true };

const isLast = (step: BodyStep): boolean => 'respond' in step || step.isOver === true;

/** Two steps that pass together. Without its coding, the body is not the upstream's. */
function joined(first: BodyStep, second: BodyStep): BodyStep {
  if ('respond' in first || 'respond' in second) return second;
  return { ...second, isChanged: true, chunks: [...first.chunks, ...second.chunks] };
}
