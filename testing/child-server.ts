import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

/** How often it is looked whether a server is up, at most, and milliseconds between two looks. */
const [LOOKS, LOOK_MS] = [1_000, 50];
/** Characters of its last words that are kept. */
const MAX_LOG = 10_000;

/** A server in a process of its own, just spawned by a test. */
export class ChildServer {
  /** Resolves when the process is gone, or was never there. */
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  #log = '';

  constructor(child: ChildProcess) {
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream
        ?.setEncoding('utf8')
        .on('data', (text: string) => (this.#log = (this.#log + text).slice(-MAX_LOG)));
    this.ended = new Promise<void>((resolve) => {
      child.once('error', (error) => {
        this.#log += error.message;
        resolve();
      });
      child.once('exit', () => resolve());
    });
  }

  /** Its process id once it is up; null: it ended before, or did not come up in 50 s. */
  async untilUp(isUp: () => Promise<boolean>): Promise<number | null> {
    const child = this.#child;
    for (let look = 0; look < LOOKS && child.exitCode === null && child.pid !== undefined; look++) {
      if (await isUp()) return child.pid;
      await sleep(LOOK_MS);
    }
    return null;
  }

  /** Of a server that did not come up, with what it said last. */
  failure(name: string): Error {
    return new Error(`${name} did not come up: ${this.#log}`);
  }
}
