import winston from 'winston';

export type LogFields = Readonly<Record<string, unknown>>;

/** What every part logs through: a sentence in the present tense and its ids. Bodies and keys never go in. */
export interface Logger {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
}

export interface LoggerOptions {
  /** The process: `sidecar`, `operator`, ... */
  part: string;
  level: 'error' | 'warn' | 'info' | 'debug';
  /** null: text where standard error is a terminal, else JSON. */
  format: 'json' | 'text' | null;
}

/** Logs go to standard error, one line an event. */
export function createLogger(options: LoggerOptions): Logger {
  const format = options.format ?? (process.stderr.isTTY ? 'text' : 'json');
  const logger = winston.createLogger({
    level: options.level,
    defaultMeta: { part: options.part },
    format: winston.format.combine(
      winston.format(unfoldErrors)(),
      winston.format.timestamp(),
      format === 'json' ? winston.format.json() : winston.format.printf(textLine),
    ),
    transports: [new winston.transports.Console({ stderrLevels: ['error', 'warn', 'info', 'debug'] })],
  });
  const log =
    (level: LoggerOptions['level']) =>
    (message: string, fields: LogFields = {}) =>
      void logger.log(level, message, fields);
  return { error: log('error'), warn: log('warn'), info: log('info'), debug: log('debug') };
}

function unfoldErrors(entry: winston.Logform.TransformableInfo): winston.Logform.TransformableInfo {
  const { error } = entry;
  if (error instanceof Error) entry['error'] = describeError(error);
  return entry;
}

/** An error with its chain of causes in one line; no stack, since the code and the message say where it belongs. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const message = error.message || error.name;
  const cause = error.cause === undefined ? '' : ` (${describeError(error.cause)})`;
  // System errors already begin with their code.
  return `${message.includes(code) ? message : `${code}: ${message}`}${cause}`;
}

function textLine(entry: winston.Logform.TransformableInfo): string {
  const { timestamp, level, message, part, ...fields } = entry;
  const rest = Object.entries(fields).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [String(timestamp), level.toUpperCase().padEnd(5), String(part), String(message), ...rest].join(' ');
}

export const silentLogger: Logger = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
};
