import { runProcess } from '../runtime/run-process.ts';
import { readConfig } from './config.ts';
import { startOperator } from './start.ts';

void runProcess({ part: 'operator', env: process.env, readConfig, start: startOperator });
