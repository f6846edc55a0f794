import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ChildSpec {
  /** `control-plane`, `agent-compliant`, ... */
  name: string;
  /** The bundle. */
  program: string;
  env: Readonly<Record<string, string>>;
}

interface Child {
  name: string;
  process: ChildProcess;
  logFile: string;
  exited: Promise<void>;
}

const GRACE_MS = 5_000;
const TAIL_LINES = 15;

/** The processes of the demo: each logs into a file of its own, and one that ends by itself ends the demo. */
export class Children {
  readonly #folder: string;
  readonly #onCrash: (error: Error) => void;
  readonly #running = new Set<Child>();
  #stopping = false;

  /** @param folder the demo's own: what is in it ends with the demo */
  constructor(folder: string, onCrash: (error: Error) => void) {
    this.#folder = folder;
    this.#onCrash = onCrash;
    // The last resort, when the demo ends without close(): nothing may outlive it.
    process.on('exit', () => {
      for (const { process: child } of this.#running) child.kill('SIGKILL');
    });
  }

  start(spec: ChildSpec): void {
    if (this.#stopping) throw new Error('the demo is ending');
    const logFile = join(this.#folder, `${spec.name}.log`);
    const log = openSync(logFile, 'a');
    const child = spawn(
      process.execPath,
      ['--enable-source-maps', '--import', endWithParent(this.#folder), spec.program],
      {
        // Nothing of the caller's environment: a PLATFORM_URL of another cluster must not leak in.
        env: { PATH: process.env['PATH'] ?? '', LOG_FORMAT: 'text', ...spec.env },
        // The pipe is never written to: its end tells the child that the demo is gone.
        stdio: ['pipe', log, log],
        // Its own process group: Ctrl-C reaches the demo alone, which then ends them in order.
        detached: true,
      },
    );
    closeSync(log);
    const entry: Child = { name: spec.name, process: child, logFile, exited: this.#exitOf(child, spec.name) };
    this.#running.add(entry);
    void entry.exited.then(() => this.#running.delete(entry));
  }

  /** Asks all of them to end, then makes them. */
  async close(): Promise<void> {
    this.#stopping = true;
    const children = [...this.#running];
    for (const { process: child } of children) child.kill('SIGTERM');
    const late = setTimeout(() => {
      for (const { process: child } of this.#running) child.kill('SIGKILL');
    }, GRACE_MS);
    await Promise.all(children.map(({ exited }) => exited));
    clearTimeout(late);
  }

  #exitOf(child: ChildProcess, name: string): Promise<void> {
    return new Promise((resolve) => {
      const ended = (how: string): void => {
        resolve();
        if (!this.#stopping) this.#onCrash(new Error(`${name} ${how}\n${this.#tailOf(name)}`));
      };
      child.once('error', (error) => ended(`cannot start: ${error.message}`));
      child.once('exit', (code, signal) =>
        ended(`ended by itself (${signal ?? `exit code ${String(code)}`}); its log ends with`),
      );
    });
  }

  #tailOf(name: string): string {
    const log = readFileSync(join(this.#folder, `${name}.log`), 'utf8');
    return log
      .trimEnd()
      .split('\n')
      .slice(-TAIL_LINES)
      .map((line) => `  ${line}`)
      .join('\n');
  }
}

/** What makes a process end when the demo is gone, and take the demo's folder along. */
function endWithParent(folder: string): string {
  const program = new URL('end-with-parent.ts', import.meta.url);
  program.searchParams.set('folder', folder);
  return program.href;
}
