import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LogFile } from '../../sidecar/record/log-file.ts';
import { TestServers } from '../http/sockets.ts';
import { ChildServer } from '../machine/child-server.ts';
import type { Program } from '../machine/debian-server.ts';
import { sampleLines } from './sample-lines.ts';

const GUIDE = join(import.meta.dirname, '../../docs/guide/siem');

/** A reader of a real audit log, with a configuration of the guide whose paths and addresses are those of the test. */
export class LogReaderRig {
  readonly folder = mkdtempSync(join(tmpdir(), 'log-reader-'));
  readonly path = join(this.folder, 'audit.log');
  /** The lines that the writer has written, one of each kind. */
  readonly lines = sampleLines();
  readonly servers = new TestServers();
  #file = this.#newFile(1e6);
  #running: { child: ChildProcess; server: ChildServer } | null = null;

  /** Writes a configuration of the guide to the folder and returns its path. Each text to replace must be in it. */
  configuration(name: string, replacements: Readonly<Record<string, string>>): string {
    let text = readFileSync(join(GUIDE, name), 'utf8');
    for (const [from, to] of Object.entries(replacements)) {
      if (!text.includes(from)) throw new Error(`${name} does not contain ${from}`);
      text = text.replaceAll(from, to);
    }
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return path;
  }

  /** Appends the lines from `from`, without `to`, and text of another program. */
  async write(from: number, to: number): Promise<void> {
    const text = `${this.lines.slice(from, to).join('\n')}\nnot a line of the log\n`;
    await this.#file.write(Buffer.from(text), true);
  }

  /** Appends them to a new file, as the writer does when the file has its maximum size. */
  async writeRotated(from: number, to: number): Promise<void> {
    await this.#file.close();
    this.#file = this.#newFile(1);
    await this.#file.open();
    await this.write(from, to);
    await this.#file.close();
    this.#file = this.#newFile(1e6);
  }

  #newFile(maxBytes: number): LogFile {
    return new LogFile({ path: this.path, maxBytes, files: 4 });
  }

  /** Starts the program and returns a function that fails with its output if it has ended. */
  start({ command, leading, env }: Program, args: readonly string[]): () => void {
    const child = spawn(command, [...leading, ...args], { cwd: this.folder, env, stdio: 'pipe' });
    const server = new ChildServer(child);
    this.#running = { child, server };
    return () => {
      if (child.exitCode !== null || child.pid === undefined) throw server.failure(command);
    };
  }

  /** Ends the program as a service manager does. */
  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    running?.child.kill('SIGTERM');
    await running?.server.ended;
  }

  async close(): Promise<void> {
    await this.stop();
    await this.#file.close();
    await this.servers.close();
    rmSync(this.folder, { recursive: true });
  }
}
