import winston from 'winston';
import { describeError } from '../core/untrusted/describe-error.ts';

export { describeError };

export type LogFields = Readonly<Record<string, unknown>>;

type Level = 'error' | 'warn' | 'info' | 'debug';

/** Logger of every component. Messages are lower case ("manifest reloaded"); details are fields. Never log bodies or keys. */
export type Logger = Readonly<Record<Level, (message: string, fields?: LogFields) => void>>;

export interface LoggerOptions {
  /** The process: `sidecar`, `operator`, ... */
  part: string;
  level: Level;
  /** null: text if standard error is a terminal, else JSON. */
  format: 'json' | 'text' | null;
}

/** winston's keys for the level and the formatted line of an entry. */
const LEVEL = Symbol.for('level');
const LINE = Symbol.for('message');

type Entry = winston.Logform.TransformableInfo;

/** Characters that may wait for a reader of standard error that does not read. Node.js keeps any number of them in memory. */
const MAX_WAITING = 1024 * 1024;

/** winston's own transports schedule an event loop turn after each line to notify listeners, which do not exist here. */
class StandardError extends winston.transports.Stream {
  /** Lines that were not written. */
  lost = 0;

  get isFull(): boolean {
    return process.stderr.writableLength > MAX_WAITING;
  }

  override log(entry: Entry, next: () => void): void {
    if (this.isFull) this.lost += 1;
    else process.stderr.write(`${String(entry[LINE])}\n`, (error) => (this.lost += error ? 1 : 0));
    next();
  }
}

const ignore = (): void => undefined;

/** Without a listener, an error of a stream ends the process: the reader of the log has gone, or its disk is full. */
export function ignoreOutputErrors(): void {
  for (const stream of [process.stdout, process.stderr])
    if (stream.listenerCount('error', ignore) === 0) stream.on('error', ignore);
}

/** Logs go to standard error, one line per event. */
export function createLogger(options: LoggerOptions): Logger {
  const { part, level: lowest } = options;
  const format = options.format ?? (process.stderr.isTTY ? 'text' : 'json');
  const line = format === 'json' ? json : textLine;
  const output = new StandardError({ stream: process.stderr });
  let reported = 0;
  const lines = winston.createLogger({
    level: lowest,
    format: winston.format((entry) => Object.assign(entry, { [LINE]: line(entry) }))(),
    transports: [output],
  });
  const log =
    (level: Level) =>
    (message: string, fields: LogFields = {}): void => {
      // Not `logger.log`, which searches the message for placeholders and formats entries that are then not written.
      if (!lines.isLevelEnabled(level)) return;
      if (output.lost > reported && !output.isFull) {
        reported = output.lost;
        logger.warn('log lines lost', { count: reported });
      }
      const timestamp = new Date().toISOString();
      lines.write({ timestamp, part, ...unfoldError(fields), level, message, [LEVEL]: level });
    };
  const logger: Logger = { error: log('error'), warn: log('warn'), info: log('info'), debug: log('debug') };
  return logger;
}

function unfoldError(fields: LogFields): LogFields {
  return fields['error'] instanceof Error ? { ...fields, error: describeError(fields['error']) } : fields;
}

/** winston's slower serialiser, for circular objects and for values that JSON does not support. */
const anyJson = winston.format.json();

function json(value: object): string {
  try {
    return JSON.stringify(value);
  } catch {
    return String((anyJson.transform({ ...value } as Entry, {}) as Entry)[LINE]);
  }
}

function textLine(entry: Entry): string {
  const { timestamp, level, message, part, ...fields } = entry;
  const rest = Object.entries(fields).map(([key, value]) => `${key}=${valueText(value)}`);
  return [String(timestamp), level.toUpperCase().padEnd(5), String(part), String(message), ...rest].join(' ');
}

function valueText(value: unknown): string {
  return typeof value === 'object' && value !== null ? json(value) : String(value);
}

export const silentLogger: Logger = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
};
