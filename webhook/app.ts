import type { Express } from 'express';
import { createApp } from '../runtime/http-app.ts';
import type { WebhookContext } from './context.ts';
import { mutateRoutes } from './routes/mutate.ts';
import { processRoutes } from './routes/process.ts';

/** The API server's questions, and what the kubelet and Prometheus ask. */
export function createWebhookApp(context: WebhookContext): Express {
  return createApp({
    logger: context.logger,
    routes: [...mutateRoutes(context), ...processRoutes(context)],
  });
}
