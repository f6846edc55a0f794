import { runProcess } from '../runtime/run-process.ts';
import { OPERATOR_FIELDS as fields, readConfig } from './config.ts';
import { startOperator } from './start.ts';

void runProcess({ part: 'operator', env: process.env, fields, readConfig, start: startOperator });
