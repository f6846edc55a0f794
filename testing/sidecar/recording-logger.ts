import type { LogFields, Logger } from '../../runtime/logger.ts';

export type LogEntry = [level: string, message: string, fields: LogFields];

/** A logger that appends its entries to `log`. */
export function recordingLogger(log: LogEntry[]): Logger {
  const entry =
    (level: string) =>
    (message: string, fields: LogFields = {}) =>
      void log.push([level, message, fields]);
  return { error: entry('error'), warn: entry('warn'), info: entry('info'), debug: entry('debug') };
}
