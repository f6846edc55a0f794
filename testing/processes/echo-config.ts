// A process with the common structure, for runtime/run-process.test.ts: starts, logs it, and closes on a signal.
import { createInterface } from 'node:readline';
import { LOG_FIELDS, optionalSecret, port, readEnv, text, type Environment } from '../../runtime/env.ts';
import type { Logger } from '../../runtime/logger.ts';
import { runProcess } from '../../runtime/run-process.ts';

const fields = {
  ...LOG_FIELDS,
  PORT: port(1),
  HOW: text('run'),
  KEY: optionalSecret(8),
};
const readConfig = (env: Environment) => readEnv(env, fields);

/** Logs as many lines, of 10,000 characters, as each line of standard input says, and writes what then waits to be written. */
function logOnDemand(logger: Logger): void {
  createInterface(process.stdin).on('line', (count) => {
    for (let i = 0; i < Number(count); i++) logger.info('x'.repeat(10_000));
    process.stdout.write(`${process.stderr.writableLength}\n`);
  });
}

void runProcess({
  part: 'echo',
  env: process.env,
  fields,
  readConfig,
  start: (config, logger) => {
    if (config.HOW === 'fail')
      return Promise.reject(
        new Error('the port is taken', { cause: Object.assign(new Error('bind'), { code: 'EADDRINUSE' }) }),
      );
    const alive = setInterval(() => undefined, 1_000);
    logger.info('listening', { port: config.PORT });
    if (config.HOW === 'log') logOnDemand(logger);
    return Promise.resolve({
      close: () => {
        if (config.HOW === 'hang') return new Promise<void>(() => undefined);
        if (config.HOW !== 'leak') clearInterval(alive);
        if (config.HOW === 'log') process.stdin.destroy();
        return Promise.resolve();
      },
    });
  },
});
