import type { Ask, Stdio } from './context.ts';
import { fileFailure } from './file-failure.ts';
import { runCommandLine } from './program.ts';

/** Prompts on the terminal; rejects if the input ends (Ctrl-D). */
const ask: Ask = async (question, fallback) => {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const ended = new Promise<never>((_resolve, reject) => {
      lines.once('close', () => reject(new Error('the input ended')));
    });
    const answer = await Promise.race([lines.question(`${question} [${fallback}]: `), ended]);
    return answer.trim() || fallback;
  } finally {
    lines.close();
  }
};

/** Aborts when a command that runs until it is stopped must end: after a signal, or because its output cannot be written. */
const stopping = new AbortController();

/** A second Ctrl-C ends the process. */
function onInterrupt(): AbortSignal {
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort());
  return controller.signal;
}

/** A second signal ends the process. */
function stdio(): Stdio {
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) process.once(signal, () => stopping.abort());
  return { input: process.stdin, output: process.stdout, stopped: stopping.signal };
}

async function stdin(): Promise<Uint8Array> {
  const { buffer } = await import('node:stream/consumers');
  return await buffer(process.stdin);
}

/** Runs the command line of this process. */
export async function runArguments(args: readonly string[]): Promise<void> {
  let isReported = false;
  // A reader such as head closes the pipe early; that is not a failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    stopping.abort();
    if (error.code === 'EPIPE') return;
    process.exitCode = 1;
    if (isReported) return;
    isReported = true;
    process.stderr.write(`error: cannot write to standard output: ${fileFailure(error, {})}\n`);
  });
  process.stderr.on('error', () => undefined);
  const isTerminal = process.stdout.isTTY && process.stdin.isTTY;
  const { output, errors, exitCode } = await runCommandLine(args, {
    env: process.env,
    cwd: process.cwd(),
    now: () => new Date(),
    color: process.stdout.isTTY && !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb',
    ask: isTerminal ? ask : null,
    ...(process.stderr.isTTY && { progress: (line: string) => process.stderr.write(`${line}\n`) }),
    warn: (line) => process.stderr.write(`${line}\n`),
    onInterrupt,
    stdin,
    stdio,
  });
  process.exitCode = exitCode;
  process.stdout.write(output);
  process.stderr.write(errors);
}
