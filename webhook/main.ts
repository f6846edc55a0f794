import { runProcess } from '../runtime/run-process.ts';
import { readConfig } from './config.ts';
import { startWebhook } from './start.ts';

void runProcess({ part: 'webhook', env: process.env, readConfig, start: startWebhook });
