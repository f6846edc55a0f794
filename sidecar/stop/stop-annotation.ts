import { readFile } from 'node:fs/promises';
import { MAX_REASON } from '../../core/shapes/agent-stop.ts';
import { cut } from '../../core/untrusted/fields.ts';
import { slept, type Clock } from '../../runtime/clock.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';
import type { StopSwitch } from './stop-switch.ts';

/** The kubelet replaces the whole volume by a symbolic link, which a watch of the file would not notice. */
const POLL_MS = 1_000;

export interface StopAnnotationOptions {
  /** The file with the value of the annotation `platform.io/stop`. */
  path: string;
  stop: Pick<StopSwitch, 'annotate'>;
  clock: Pick<Clock, 'sleep'>;
  logger: Pick<Logger, 'error'>;
  /** Ends the watch. */
  signal: AbortSignal;
}

/** Applies the annotation before it resolves, and each change until `signal` aborts. */
export async function watchStopAnnotation(options: StopAnnotationOptions): Promise<void> {
  const { path, stop, clock, logger, signal } = options;
  let isFailing = false;
  const read = async (): Promise<void> => {
    const result = await reasonIn(path);
    if ('reason' in result) stop.annotate(result.reason);
    // The last known value stays: a file that cannot be read must neither stop nor resume the agent.
    else if (!isFailing) logger.error('stop annotation cannot be read', { path, error: result.error });
    isFailing = 'error' in result;
  };
  await read();
  void (async () => {
    while (await slept(clock, POLL_MS, signal)) await read();
  })();
}

/** null: no annotation. */
async function reasonIn(path: string): Promise<{ reason: string | null } | { error: string }> {
  try {
    const reason = cut((await readFile(path, 'utf8')).trim(), MAX_REASON);
    return { reason: reason === '' ? null : reason };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { reason: null };
    return { error: describeError(error) };
  }
}
