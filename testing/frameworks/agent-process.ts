import { spawn, type ChildProcess } from 'node:child_process';
import { ChildServer } from '../machine/child-server.ts';
import { folderOf, pythonIn } from './programs.ts';

/** A program in Python or JavaScript, and its working directory. */
interface AgentProgram {
  /** Names the agent in errors. */
  name: string;
  folder: string;
  file: string;
  env: Record<string, string>;
}

/** The process of an agent that serves `GET /health`. */
export class AgentProcess {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #server: ChildServer;

  constructor({ name, folder, file, env }: AgentProgram) {
    const command = file.endsWith('.py') ? pythonIn(folderOf('python')) : process.execPath;
    this.#name = name;
    this.#child = spawn(command, [file], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#server = new ChildServer(this.#child);
  }

  /** Waits until `GET /health` returns 2xx. Throws with the output of the process if it does not. */
  async untilHealthy(port: number): Promise<void> {
    const isUp = () =>
      fetch(`http://127.0.0.1:${port}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    if ((await this.#server.untilUp(isUp)) === null) throw this.#server.failure(this.#name);
  }

  /** Its output so far. */
  output(): string {
    return this.#server.failure(this.#name).message;
  }

  async close(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#server.ended;
  }
}
