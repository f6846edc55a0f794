import express from 'express';
import { env } from './env.js';
import { router } from './routes.js';
import { log, startTelemetry } from './telemetry.js';

startTelemetry();

const app = express();
app.use(router);
app.listen(env.PORT, () => log.info(`listening on ${env.PORT}`));
