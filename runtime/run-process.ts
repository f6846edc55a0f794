import { PORT_TAKEN_EXIT_CODE } from '../core/injection/names.ts';
import {
  describeProblems,
  withoutServiceLinks,
  withSecretFiles,
  type ConfigOf,
  type ConfigResult,
  type EnvFields,
  type Environment,
  type LOG_FIELDS,
} from './env.ts';
import { createLogger, describeError, ignoreOutputErrors, type Logger } from './logger.ts';
import { StartProblem, writeTerminationMessage } from './start-problem.ts';

/** Handle of a started process, used to stop it. */
export interface Running {
  close(): Promise<void>;
}

type LogConfig = ConfigOf<typeof LOG_FIELDS>;

export interface ProcessDefinition<C extends LogConfig> {
  part: string;
  env: Environment;
  /** The variables whose secrets may also be in files; default: none. */
  fields?: EnvFields;
  readConfig(env: Environment): ConfigResult<C>;
  /** Starts everything. `signal` aborts if a stop signal arrives during the start. */
  start(config: C, logger: Logger, signal: AbortSignal): Promise<Running>;
}

/**
 * Runs the lifecycle of every process: read the environment, start, wait for SIGTERM or SIGINT, close, exit.
 * An invalid environment or a failed start sets exit code 1, a port in use `PORT_TAKEN_EXIT_CODE`, and a `StartProblem` its own
 * code and the termination message of the container. A second signal exits immediately.
 */
export async function runProcess<C extends LogConfig>(definition: ProcessDefinition<C>): Promise<void> {
  const { part, fields = {} } = definition;
  ignoreOutputErrors();
  const { env, problems } = withSecretFiles(withoutServiceLinks(definition.env), fields);
  const result = definition.readConfig(env);
  if (!result.ok || problems.length > 0) {
    const all = [...problems, ...(result.ok ? [] : result.problems)];
    process.stderr.write(`${part} cannot start:\n${describeProblems(all)}\n`);
    process.exitCode = 1;
    return;
  }
  const { LOG_LEVEL: level, LOG_FORMAT: format } = result.config;
  const logger = createLogger({ part, level, format });
  const stopping = new AbortController();
  const stopped = onStopSignal(stopping);
  let isStopping = false;
  try {
    const running = await definition.start(result.config, logger, stopping.signal);
    const reason = await stopped;
    isStopping = true;
    logger.info('shutting down', { reason });
    await running.close();
    logger.info('stopped');
  } catch (error) {
    // A start that the stop signal interrupts rejects with an AbortError. That is not a failure.
    const { name, code } = error as NodeJS.ErrnoException;
    if (name === 'AbortError' && stopping.signal.aborted) return;
    logger.error(isStopping ? 'shutdown failed, exiting' : 'start failed, exiting', {
      error: describeError(error),
    });
    process.exitCode = code === 'EADDRINUSE' ? PORT_TAKEN_EXIT_CODE : 1;
    if (error instanceof StartProblem) endWith(error);
  } finally {
    // The delay lets standard error flush. Open timers and sockets are bugs, but must not delay the termination of the pod.
    // oxlint-disable-next-line no-restricted-properties -- last resort after everything was closed
    setTimeout(() => process.exit(), 1_000).unref();
  }
}

/** Ends a process whose input a person has to correct. */
export function endWith({ explanation, exitCode }: StartProblem): void {
  writeTerminationMessage(explanation);
  process.exitCode = exitCode;
}

/** A second signal within this time is a copy of the first signal. */
const ECHO_MS = 500;

function onStopSignal(stopping: AbortController): Promise<string> {
  return new Promise((resolve) => {
    let signalledAt: number | null = null;
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      process.on(name, () => {
        // npm and timeout(1) forward a signal that the terminal has already sent to the whole process group.
        if (signalledAt !== null && performance.now() - signalledAt < ECHO_MS) return;
        // oxlint-disable-next-line no-restricted-properties -- a second signal means: exit immediately
        if (signalledAt !== null) process.exit(1);
        signalledAt = performance.now();
        stopping.abort();
        resolve(name);
      });
    }
  });
}
