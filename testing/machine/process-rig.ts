import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { COMPILE_CACHE } from './compile-cache.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const HOST = '127.0.0.1';
const START_MS = 200_000;
/** Termination grace period of a process, as for a pod. */
const STOP_MS = 30_000;

/** One shipped part of the product: its bundle as a separate process. */
export interface RunningPart {
  pid: number;
  /** Output so far of both streams. */
  output(): string;
  kill(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/** Runs the product's bundles as processes in a temporary directory, without this process's environment. */
export class ProcessRig {
  readonly folder: string;
  readonly #running = new Set<RunningPart>();

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async open(): Promise<ProcessRig> {
    return new ProcessRig(await mkdtemp(join(tmpdir(), 'process-rig-')));
  }

  /** Writes a file to the rig's directory and returns its path. */
  async file(name: string, text: string): Promise<string> {
    const path = join(this.folder, name);
    await writeFile(path, text);
    return path;
  }

  /** Starts `dist/<part>/main.js` and waits until a URL returns 2xx or until the output matches. */
  start(part: string, ready: string | RegExp, env: Record<string, string>): Promise<RunningPart> {
    const bundle = join(ROOT, 'dist', part, 'main.js');
    if (!existsSync(bundle)) throw new Error(`dist/${part}/main.js is missing: run npm run build`);
    return this.startProgram(bundle, ready, env);
  }

  /** Starts any other Node.js program in the same way. */
  startProgram(file: string, ready: string | RegExp, env: Record<string, string>): Promise<RunningPart> {
    return this.startCommand([process.execPath, file], ready, env);
  }

  /** Starts any other program with its arguments in the same way. */
  async startCommand(
    [program = '', ...args]: readonly string[],
    ready: string | RegExp,
    env: Record<string, string>,
  ): Promise<RunningPart> {
    const child = spawn(program, args, {
      env: { LOG_FORMAT: 'text', ...COMPILE_CACHE, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const started = runningPart(child, () => this.#running.delete(started));
    this.#running.add(started);
    const deadline = Date.now() + START_MS;
    while (!(await (typeof ready === 'string' ? isOk(ready) : ready.test(started.output())))) {
      if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline)
        throw new Error(
          `${[program, ...args].join(' ')} is not ready (${String(ready)}):\n${started.output()}`,
        );
      await sleep(50);
    }
    return started;
  }

  /** Starts the example agent with this manifest on `port`. */
  startAgent(port: number, manifestPath: string, env: Record<string, string> = {}): Promise<RunningPart> {
    return this.start('example-agents', `http://${HOST}:${port}/v1/models`, {
      HOST,
      PORT: String(port),
      MANIFEST_PATH: manifestPath,
      AGENT_FAULTS: 'none',
      ...env,
    });
  }

  /** Starts a sidecar with this manifest in front of the agent on `agentPort`. */
  async startSidecar(
    agentPort: number,
    manifestPath: string,
    env: Record<string, string> = {},
  ): Promise<RunningPart & { proxyUrl: string; controlUrl: string }> {
    const [proxy = 0, control = 0] = await freePorts(2);
    const controlUrl = `http://${HOST}:${control}`;
    const started = await this.start('sidecar', `${controlUrl}/readyz`, {
      BIND_ADDRESS: HOST,
      UPSTREAM_URL: `http://${HOST}:${agentPort}`,
      MANIFEST_PATH: manifestPath,
      PROXY_PORT: String(proxy),
      CONTROL_PLANE_PORT: String(control),
      ...env,
    });
    return { ...started, proxyUrl: `http://${HOST}:${proxy}`, controlUrl };
  }

  /** Stops every process, even if it is suspended. */
  async stopAll(): Promise<void> {
    await Promise.all(
      [...this.#running].map((part) => {
        part.kill('SIGCONT');
        return part.stop();
      }),
    );
  }

  async close(): Promise<void> {
    await this.stopAll();
    await rm(this.folder, { recursive: true, force: true });
  }
}

function runningPart(child: ChildProcess, onExit: () => void): RunningPart {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  const exited = once(child, 'exit');
  void exited.then(onExit);
  return {
    pid: child.pid ?? NaN,
    output: () => output,
    kill: (signal) => void child.kill(signal),
    stop: async () => {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await exited;
      clearTimeout(late);
    },
  };
}

async function isOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
