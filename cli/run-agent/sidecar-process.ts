import { spawn, type ChildProcess } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { exchange } from '../../probe/http-exchange.ts';
import type { Environment } from '../../runtime/env.ts';

export interface SidecarOptions {
  /** Path of the manifest. */
  manifest: string;
  mode: string;
  /** `lane=upstream` entries, comma-separated; empty: no lane. */
  lanes: string;
  ports: { proxy: number; control: number; egress: number; agent: number };
}

/** Milliseconds for the start. A machine under load needs several seconds to load the bundle. */
const START_MS = 30_000;
const POLL_MS = 50;
/** Characters of the output that are kept for an error. */
const KEPT = 4_000;

/** Ends the sidecar if this process is killed, so that its ports are free again. */
const END_WITH_PARENT = `data:text/javascript,${encodeURIComponent("process.stdin.on('end', () => process.exit()).resume()")}`;

/** Variables of the agent that would switch something on in the sidecar. */
const NOT_PASSED = ['PLATFORM_URL', 'PLATFORM_KEY', 'PLATFORM_TOKEN_FILE', 'OTLP_PORT', 'POLICY_URL'];

/** A sidecar that runs as a child of this process. */
export class SidecarProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #output = '';
  #isEnded = false;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      const end = (reason: string): void => {
        this.#output += reason;
        this.#isEnded = true;
        resolve();
      };
      child.once('error', ({ message }) => end(`${message}\n`));
      child.once('close', () => end(''));
    });
    for (const stream of [child.stdout, child.stderr])
      stream
        ?.setEncoding('utf8')
        .on('data', (text: string) => (this.#output = (this.#output + text).slice(-KEPT)));
  }

  /** Starts the sidecar. Rejects with its output if it does not start. */
  static async start(env: Environment, options: SidecarOptions): Promise<SidecarProcess> {
    const child = spawn(process.execPath, ['--import', END_WITH_PARENT, sidecarBundle()], {
      env: environmentOf(env, options),
      // Nothing is written to the first pipe; its end signals the end of this process.
      stdio: ['pipe', 'pipe', 'pipe'],
      // Ctrl-C ends the agent; the sidecar is stopped after its last report.
      detached: true,
    });
    const started = new SidecarProcess(child);
    const url = new URL(`http://127.0.0.1:${options.ports.control}/health/live`);
    const until = performance.now() + START_MS;
    while (!started.#isEnded && performance.now() < until) {
      const response = await exchange(url, { timeoutMs: START_MS });
      if (response.answered && response.status === 200 && !started.#isEnded) return started;
      await sleep(POLL_MS);
    }
    await started.stop();
    throw new Error(`the sidecar did not start\n${started.#output}`.trimEnd());
  }

  /** Stops the sidecar. Its requests in flight are cut, because the agent has ended. */
  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  /** Warnings and errors that the sidecar logged last. */
  get output(): string {
    return this.#output;
  }
}

/** The bundle next to the one of this command. */
function sidecarBundle(): string {
  const command = realpathSync(process.argv[1] ?? '');
  return join(dirname(dirname(command)), 'sidecar', 'main.js');
}

function environmentOf(env: Environment, { manifest, mode, lanes, ports }: SidecarOptions): Environment {
  const kept = Object.entries(env).filter(([name]) => !NOT_PASSED.includes(name));
  return {
    // A key of the agent must not turn the LLM analysis on.
    LLM_ANALYSIS_PROVIDER: 'off',
    LOG_LEVEL: 'warn',
    LOG_FORMAT: 'text',
    ...Object.fromEntries(kept),
    MANIFEST_PATH: manifest,
    UPSTREAM_URL: `http://127.0.0.1:${ports.agent}`,
    BIND_ADDRESS: '127.0.0.1',
    PROXY_PORT: String(ports.proxy),
    CONTROL_PLANE_PORT: String(ports.control),
    POLICY_ENGINE: 'builtin',
    POLICY_PROXY_MODE: mode,
    ...(lanes !== '' && { EGRESS_LANES: lanes, EGRESS_PORT: String(ports.egress) }),
  };
}
