import { runProcess } from '../runtime/run-process.ts';
import { readConfig } from './config.ts';
import { startSidecar } from './start-sidecar.ts';

void runProcess({
  part: 'sidecar',
  env: process.env,
  readConfig,
  start: (config, logger) => startSidecar({ config, logger, env: process.env }),
});
