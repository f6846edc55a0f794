import { runProcess } from '../runtime/run-process.ts';
import { readConfig } from './config.ts';
import { startControlPlane } from './start.ts';

void runProcess({ part: 'control-plane', env: process.env, readConfig, start: startControlPlane });
