// A webhook whose CAs expire immediately: each CA is replaced as soon as the previous rotation is complete.
import { runProcess } from '../../runtime/run-process.ts';
import { TIMING } from '../../webhook/certificates/advance.ts';
import { readConfig } from '../../webhook/config.ts';
import { startWebhook } from '../../webhook/start.ts';

const timing = { ...TIMING, caDays: 10, caRenewDays: 5000, leafDays: 5, leafRenewDays: 1 };
const options = { timing: { ...timing, settleMs: 400 }, everyMs: 100 };

void runProcess({
  part: 'webhook',
  env: process.env,
  readConfig,
  start: (config, logger, signal) => startWebhook(config, logger, signal, options),
});
