import { runProcess } from '../runtime/run-process.ts';
import { CONTROL_PLANE_FIELDS as fields, readConfig } from './config.ts';
import { startControlPlane } from './start.ts';

void runProcess({ part: 'control-plane', env: process.env, fields, readConfig, start: startControlPlane });
