// A process with the common structure, for runtime/run-process.test.ts: starts, logs it, and closes on a signal.
import { LOG_FIELDS, port, readEnv, text, type Environment } from '../../runtime/env.ts';
import { runProcess } from '../../runtime/run-process.ts';

const readConfig = (env: Environment) => readEnv(env, { ...LOG_FIELDS, PORT: port(1), HOW: text('run') });

void runProcess({
  part: 'echo',
  env: process.env,
  readConfig,
  start: (config, logger) => {
    if (config.HOW === 'fail')
      return Promise.reject(
        new Error('the port is taken', { cause: Object.assign(new Error('bind'), { code: 'EADDRINUSE' }) }),
      );
    const alive = setInterval(() => undefined, 1_000);
    logger.info('listening', { port: config.PORT });
    return Promise.resolve({
      close: () => {
        if (config.HOW === 'hang') return new Promise<void>(() => undefined);
        if (config.HOW !== 'leak') clearInterval(alive);
        return Promise.resolve();
      },
    });
  },
});
