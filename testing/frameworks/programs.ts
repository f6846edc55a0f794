import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ChildServer } from '../machine/child-server.ts';
import type { Packages } from './row.ts';

const SOURCES = join(import.meta.dirname, 'programs');
const SCRIPT = join(import.meta.dirname, '../../scripts/framework-packages.sh');

type Found = { folder: string } | { missing: string };
const found = new Map<Packages, Found>();

/** Directory of these packages; the script installs them if necessary (a minute, once). */
function packagesFolder(packages: Packages): Found {
  const known = found.get(packages);
  if (known !== undefined) return known;
  const folder = packages === 'none' ? { folder: join(import.meta.dirname, '../..') } : fetched(packages);
  found.set(packages, folder);
  return folder;
}

function fetched(packages: Packages, ...flags: string[]): Found {
  const { status, stdout, stderr } = spawnSync(SCRIPT, [packages, ...flags], { encoding: 'utf8' });
  if (status === 0) return { folder: stdout.trim().split('\n').at(-1) ?? '' };
  if (status !== 3) throw new Error(`scripts/framework-packages.sh ${packages} failed: ${stdout}${stderr}`);
  process.stderr.write(`SKIPPED: ${stdout.trim()}\n`);
  return { missing: stdout.trim() };
}

/** Why these packages cannot be used; undefined: they can. Without `installs`, missing packages are not installed. */
export function whyNoPackages(packages: Packages, installs = true): string | undefined {
  if (!installs && packages !== 'none' && !found.has(packages))
    found.set(packages, fetched(packages, '--installed'));
  const folder = packagesFolder(packages);
  return 'missing' in folder ? folder.missing : undefined;
}

/** The installed version of a package. */
export function versionOf(name: string, packages: Packages): string {
  const folder = folderOf(packages);
  if (packages !== 'python') {
    const file = readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8');
    return (JSON.parse(file) as { version: string }).version;
  }
  const code = `from importlib.metadata import version; print(version("${name}"))`;
  const { status, stdout, stderr } = spawnSync(pythonIn(folder), ['-c', code], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`cannot determine the version of ${name}: ${stderr}`);
  return stdout.trim();
}

/** Directory of these packages. */
export function folderOf(packages: Packages): string {
  const folder = packagesFolder(packages);
  if ('missing' in folder) throw new Error(folder.missing);
  return folder.folder;
}

/** The interpreter of the packages for Python. */
export const pythonIn = (folder: string): string => join(folder, 'bin/python3');

export interface Served {
  close(): Promise<void>;
  /** Its output so far. */
  output(): string;
}

export interface Client {
  /** The result or the error of a call, as JSON. Rejects if the program has ended. */
  call(name: string, url: string): Promise<string>;
  close(): Promise<void>;
}

/** Runs the programs of `programs/` as processes, each next to the packages that it imports. */
export class Programs {
  readonly #folder = mkdtempSync(join(tmpdir(), 'frameworks-'));
  readonly #running = new Set<ChildProcess>();
  readonly #sources: readonly string[];

  /** `more`: a directory with further programs, whose names differ. */
  constructor(...more: string[]) {
    this.#sources = [SOURCES, ...more];
  }

  /** Starts a server on `port` and waits until it accepts connections; else rejects with its output. */
  async serve(program: string, packages: Packages, env: Record<string, string>): Promise<Served> {
    const child = this.#spawn([program], packages, env);
    const server = new ChildServer(child);
    const close = async (): Promise<void> => {
      child.kill('SIGKILL');
      await server.ended;
    };
    const served = { close, output: () => server.failure(program).message };
    if ((await server.untilUp(() => accepts(Number(env['PORT'])))) !== null) return served;
    await close();
    throw server.failure(program);
  }

  /** Starts a client that runs calls sequentially. */
  client(program: string, packages: Packages, env: Record<string, string> = {}): Client {
    const child = this.#spawn([program], packages, env);
    const server = new ChildServer(child);
    const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
    return {
      async call(name, url) {
        child.stdin?.write(`${JSON.stringify({ name, url })}\n`);
        for (;;) {
          const { done, value } = await lines.next();
          if (done === true) throw server.failure(program);
          // Some libraries also write to standard output.
          if (value.startsWith('{')) return value;
        }
      },
      async close() {
        child.kill('SIGKILL');
        await server.ended;
      },
    };
  }

  /** Stops all running programs. */
  async close(): Promise<void> {
    const ends = [...this.#running].map((child) => once(child, 'close'));
    for (const child of this.#running) child.kill('SIGKILL');
    await Promise.all(ends);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #spawn([program = '', ...args]: string[], packages: Packages, env: Record<string, string>): ChildProcess {
    const file = join(this.#besidePackages(packages), program);
    const command = program.endsWith('.py') ? pythonIn(folderOf(packages)) : process.execPath;
    const child = spawn(command, [file, ...args], {
      cwd: this.#folder,
      // Some libraries report this name. Python needs the path to find its packages.
      ...(command === process.execPath && { argv0: 'node' }),
      // Own home directory, because some frameworks store settings and databases there.
      env: { PATH: process.env['PATH'], HOME: this.#folder, ...QUIET, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#running.add(child);
    child.once('close', () => this.#running.delete(child));
    return child;
  }

  /** Node.js modules find packages in their parent directories. */
  #besidePackages(packages: Packages): string {
    const folder = join(this.#folder, packages);
    if (mkdirSync(folder, { recursive: true }) === undefined) return folder;
    for (const file of this.#sources.flatMap((source) => globSync(join(source, '*.{mjs,py}'))))
      copyFileSync(file, join(folder, basename(file)));
    if (packages !== 'python')
      symlinkSync(join(folderOf(packages), 'node_modules'), join(folder, 'node_modules'));
    return folder;
  }
}

/** Disables telemetry of the frameworks and passes no keys. */
export const QUIET = {
  OPENAI_API_KEY: 'key',
  ANTHROPIC_API_KEY: 'key',
  OTEL_SDK_DISABLED: 'true',
  DO_NOT_TRACK: '1',
  CREWAI_DISABLE_TELEMETRY: 'true',
  CREWAI_TRACING_ENABLED: 'false',
  OPENAI_AGENTS_DISABLE_TRACING: '1',
  ANONYMIZED_TELEMETRY: 'false',
  MASTRA_TELEMETRY_DISABLED: '1',
  LANGSMITH_TRACING: 'false',
  LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  PYTHONDONTWRITEBYTECODE: '1',
  NO_COLOR: '1',
};

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      resolve(true);
      socket.destroy();
    }).once('error', () => resolve(false));
  });
}
