import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PORT_TAKEN_EXIT_CODE } from '../../core/injection/names.ts';
import { isRecord, jsonOf } from '../../core/untrusted/fields.ts';
import { exchange } from '../../probe/http-exchange.ts';
import type { Environment } from '../../runtime/env.ts';
import type { Ports } from './ports.ts';

export interface SidecarOptions {
  /** Path of the manifest. */
  manifest: string;
  mode: string;
  /** `lane=upstream` entries, comma-separated; empty: no lane. */
  lanes: string;
  ports: Ports;
}

/** The sidecar did not start. */
export class StartFailure extends Error {
  /** Another process took one of its ports first. */
  readonly isPortTaken: boolean;

  constructor(reason: string, { isPortTaken }: { isPortTaken: boolean }) {
    super(reason);
    this.isPortTaken = isPortTaken;
  }
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
  readonly #end = new AbortController();

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      const end = (reason: string): void => {
        this.#output += reason;
        this.#end.abort();
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

  /** Starts the sidecar. Rejects with a StartFailure that has its output. */
  static async start(env: Environment, options: SidecarOptions): Promise<SidecarProcess> {
    const nonce = randomUUID();
    const child = spawn(process.execPath, ['--import', END_WITH_PARENT, sidecarBundle()], {
      env: { ...environmentOf(env, options), START_NONCE: nonce },
      // Nothing is written to the first pipe; its end signals the end of this process.
      stdio: ['pipe', 'pipe', 'pipe'],
      // Ctrl-C ends the agent; the sidecar is stopped after its last report.
      detached: true,
    });
    const started = new SidecarProcess(child);
    const url = new URL(`http://127.0.0.1:${options.ports.control}/readyz`);
    const until = performance.now() + START_MS;
    while (!started.#end.signal.aborted && performance.now() < until) {
      // Another program may listen on the port of a sidecar that cannot start.
      const response = await exchange(url, {
        timeoutMs: START_MS,
        maxBytes: KEPT,
        signal: started.#end.signal,
      });
      if (response.answered && isFrom(nonce, response.body)) return started;
      await sleep(POLL_MS);
    }
    await started.stop();
    throw new StartFailure(`the sidecar did not start\n${started.#output}`.trimEnd(), {
      isPortTaken: child.exitCode === PORT_TAKEN_EXIT_CODE,
    });
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

function isFrom(nonce: string, body: Buffer | null): boolean {
  const value = jsonOf(body?.toString('utf8') ?? '');
  return isRecord(value) && value['nonce'] === nonce;
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
