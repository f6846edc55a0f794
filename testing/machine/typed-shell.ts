import { spawn, type ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const DONE = '__typed__';

/** A shell in which a test types the commands of a page one block after the other, as a reader does. */
export class TypedShell {
  readonly #shell: ChildProcess;
  readonly #folder: string;
  #output = '';
  #isEnded = false;
  #onOutput = (): void => undefined;

  /** `folder`: a directory for files of the shell itself. */
  constructor(folder: string, options: { cwd: string; env: Record<string, string> }) {
    this.#folder = folder;
    // A process group, so that close() also ends what the page starts in the background.
    this.#shell = spawn('bash', ['--noprofile', '--norc', '-e'], { ...options, detached: true });
    for (const stream of [this.#shell.stdout, this.#shell.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
        this.#onOutput();
      });
    // Programs in the background would keep the output open.
    this.#shell.on('exit', () => this.#signalGroup());
    this.#shell.on('close', () => {
      this.#isEnded = true;
      this.#onOutput();
    });
    this.#shell.stdin?.write('exec 2>&1\n');
  }

  /** Runs a block of commands and returns what it printed. Rejects if a command fails. */
  async type(commands: string): Promise<string> {
    const block = join(this.#folder, 'block.sh');
    writeFileSync(block, commands);
    this.#output = '';
    this.#shell.stdin?.write(`. '${block}' < /dev/null\necho ${DONE}\n`);
    while (!this.#output.endsWith(`${DONE}\n`)) {
      if (this.#isEnded) throw new Error(`failed: ${commands}\n${this.#output}`);
      const { promise, resolve } = Promise.withResolvers<undefined>();
      this.#onOutput = (): void => resolve(undefined);
      await promise;
    }
    return this.#output.slice(0, -`${DONE}\n`.length);
  }

  /** Ends the shell and everything that it started. */
  async close(): Promise<void> {
    if (this.#isEnded) return;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#onOutput = (): void => resolve(undefined);
    this.#signalGroup();
    while (!this.#isEnded) await promise;
  }

  #signalGroup(): void {
    try {
      if (this.#shell.pid !== undefined) process.kill(-this.#shell.pid, 'SIGTERM');
    } catch {
      // Nothing of the group is left.
    }
  }
}
