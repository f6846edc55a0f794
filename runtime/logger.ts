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

/** winston's own transports schedule an event loop turn after each line to notify listeners, which do not exist here. */
class StandardError extends winston.transports.Stream {
  override log(entry: Entry, next: () => void): void {
    process.stderr.write(`${String(entry[LINE])}\n`);
    next();
  }
}

/** Logs go to standard error, one line per event. */
export function createLogger(options: LoggerOptions): Logger {
  const { part, level: lowest } = options;
  const format = options.format ?? (process.stderr.isTTY ? 'text' : 'json');
  const line = format === 'json' ? json : textLine;
  const logger = winston.createLogger({
    level: lowest,
    format: winston.format((entry) => Object.assign(entry, { [LINE]: line(entry) }))(),
    transports: [new StandardError({ stream: process.stderr })],
  });
  const log =
    (level: Level) =>
    (message: string, fields: LogFields = {}): void => {
      // Not `logger.log`, which searches the message for placeholders and formats entries that are then not written.
      if (!logger.isLevelEnabled(level)) return;
      const timestamp = new Date().toISOString();
      logger.write({ timestamp, part, ...unfoldError(fields), level, message, [LEVEL]: level });
    };
  return { error: log('error'), warn: log('warn'), info: log('info'), debug: log('debug') };
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
