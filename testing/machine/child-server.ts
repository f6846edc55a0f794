import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

/** Maximum number of readiness checks, and milliseconds between two checks. */
const [LOOKS, LOOK_MS] = [2_400, 50];
/** Number of characters of the last output to keep. */
const MAX_LOG = 10_000;

/** A server process spawned by a test. */
export class ChildServer {
  /** Resolves when the process has ended or failed to start. */
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

  /** Its process id once it is ready; null: it exited, or was not ready within two minutes. */
  async untilUp(isUp: () => Promise<boolean>): Promise<number | null> {
    const child = this.#child;
    for (let look = 0; look < LOOKS && child.exitCode === null && child.pid !== undefined; look++) {
      if (await isUp()) return child.pid;
      await sleep(LOOK_MS);
    }
    return null;
  }

  /** Error for a server that failed to start, with its last output. */
  failure(name: string): Error {
    return new Error(`${name} failed to start: ${this.#log}`);
  }
}
