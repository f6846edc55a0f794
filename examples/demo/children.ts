import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ChildSpec {
  /** `control-plane`, `agent-compliant`, ... */
  name: string;
  /** Path of the bundle, or of the program in Python. */
  program: string;
  /** Command of the interpreter; absent: Node.js. */
  python?: string;
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
const PYTHON_END_WITH_PARENT = join(import.meta.dirname, 'end_with_parent.py');

/** The processes of the demo: each logs to its own file, and an unexpected exit ends the demo. */
export class Children {
  readonly #folder: string;
  readonly #onCrash: (error: Error) => void;
  readonly #running = new Set<Child>();
  #stopping = false;

  /** @param folder temporary directory of the demo; removed at the end */
  constructor(folder: string, onCrash: (error: Error) => void) {
    this.#folder = folder;
    this.#onCrash = onCrash;
    // Last resort if the demo ends without close(): no process may outlive it.
    process.on('exit', () => {
      for (const { process: child } of this.#running) child.kill('SIGKILL');
    });
  }

  start(spec: ChildSpec): void {
    if (this.#stopping) throw new Error('the demo is stopping');
    const logFile = join(this.#folder, `${spec.name}.log`);
    const log = openSync(logFile, 'a');
    const [command, ...args] = this.#commandOf(spec);
    const child = spawn(command, args, {
      // Without the caller's environment, because a PLATFORM_URL of another cluster must not be used.
      env: { PATH: process.env['PATH'] ?? '', ...compileCache(), LOG_FORMAT: 'text', ...spec.env },
      // Nothing is written to the pipe; its end signals the end of the demo to the child.
      stdio: ['pipe', log, log],
      // Own process group, so that Ctrl-C reaches only the demo, which stops its processes in order.
      detached: true,
    });
    closeSync(log);
    const entry: Child = { name: spec.name, process: child, logFile, exited: this.#exitOf(child, spec.name) };
    this.#running.add(entry);
    void entry.exited.then(() => this.#running.delete(entry));
  }

  /** Stops all processes with SIGTERM, then with SIGKILL. */
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

  #commandOf({ program, python }: ChildSpec): [string, ...string[]] {
    if (python !== undefined) return [python, PYTHON_END_WITH_PARENT, this.#folder, program];
    return [process.execPath, '--import', endWithParent(this.#folder), program];
  }

  #exitOf(child: ChildProcess, name: string): Promise<void> {
    return new Promise((resolve) => {
      const ended = (how: string): void => {
        resolve();
        if (!this.#stopping) this.#onCrash(new Error(`${name} ${how}\n${this.#tailOf(name)}`));
      };
      child.once('error', (error) => ended(`cannot start: ${error.message}`));
      child.once('exit', (code, signal) =>
        ended(`exited unexpectedly (${signal ?? `exit code ${String(code)}`}); its log ends with`),
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

/** A compile cache of the caller. Its processes compile the same three bundles. */
function compileCache(): Record<string, string> {
  const folder = process.env['NODE_COMPILE_CACHE'];
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
}

/** Module that ends a process when the demo is gone, and removes the demo's directory. */
function endWithParent(folder: string): string {
  const program = new URL('end-with-parent.mjs', import.meta.url);
  program.searchParams.set('folder', folder);
  return program.href;
}
