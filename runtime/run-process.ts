import { PORT_TAKEN_EXIT_CODE } from '../core/injection/names.ts';
import { describeProblems, type ConfigResult, type Environment } from './env.ts';
import { createLogger, describeError, type Logger, type LoggerOptions } from './logger.ts';

/** What a running process hands back: the way to stop it. */
export interface Running {
  close(): Promise<void>;
}

export interface ProcessDefinition<
  C extends { LOG_LEVEL: LoggerOptions['level']; LOG_FORMAT: LoggerOptions['format'] },
> {
  part: string;
  env: Environment;
  readConfig(env: Environment): ConfigResult<C>;
  /** Starts everything; `signal` aborts when the process is asked to stop while it still starts. */
  start(config: C, logger: Logger, signal: AbortSignal): Promise<Running>;
}

/**
 * The life of every process: read the environment, start, wait for SIGTERM or SIGINT, close, end.
 * A wrong environment or a failed start sets exit code 1, a port that is taken `PORT_TAKEN_EXIT_CODE`; a second signal ends
 * the process at once.
 */
export async function runProcess<
  C extends { LOG_LEVEL: LoggerOptions['level']; LOG_FORMAT: LoggerOptions['format'] },
>(definition: ProcessDefinition<C>): Promise<void> {
  const result = definition.readConfig(definition.env);
  if (!result.ok) {
    process.stderr.write(`${definition.part} cannot start:\n${describeProblems(result.problems)}\n`);
    process.exitCode = 1;
    return;
  }
  const logger = createLogger({
    part: definition.part,
    level: result.config.LOG_LEVEL,
    format: result.config.LOG_FORMAT,
  });
  const stopping = new AbortController();
  const stopped = onStopSignal(stopping);
  try {
    const running = await definition.start(result.config, logger, stopping.signal);
    const reason = await stopped;
    logger.info('stops', { reason });
    await running.close();
    logger.info('is stopped');
  } catch (error) {
    // A start that is interrupted by the stop signal rejects with the abort, which is no error.
    if (isAbort(error) && stopping.signal.aborted) return;
    logger.error('ends with an error', { error: describeError(error) });
    process.exitCode = isPortTaken(error) ? PORT_TAKEN_EXIT_CODE : 1;
  } finally {
    // Logs flush through standard error; timers and sockets left open would be bugs, but must not hold a pod's termination.
    // oxlint-disable-next-line no-restricted-properties -- the last resort after everything was closed
    setTimeout(() => process.exit(), 1_000).unref();
  }
}

/** Within this time a second signal is the first one's echo. */
const ECHO_MS = 500;

function isPortTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

function onStopSignal(stopping: AbortController): Promise<string> {
  return new Promise((resolve) => {
    let askedAt: number | null = null;
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      process.on(name, () => {
        // npm and timeout(1) pass on a signal that the terminal has already sent to the whole group.
        if (askedAt !== null && performance.now() - askedAt < ECHO_MS) return;
        // oxlint-disable-next-line no-restricted-properties -- a second signal means: now
        if (askedAt !== null) process.exit(1);
        askedAt = performance.now();
        stopping.abort();
        resolve(name);
      });
    }
  });
}
