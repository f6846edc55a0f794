import type { Express } from 'express';
import { createApp, type Route } from '../runtime/http-app.ts';
import type { WebhookContext } from './context.ts';
import { mutateRoutes } from './routes/mutate.ts';
import { processRoutes } from '../runtime/process-routes.ts';

/** The table of routes: the API server's questions, and what the kubelet and Prometheus ask. */
export function webhookRoutes(context: WebhookContext): Route[] {
  return [...mutateRoutes(context), ...processRoutes(context)];
}

export function createWebhookApp(context: WebhookContext): Express {
  return createApp({ logger: context.logger, routes: webhookRoutes(context) });
}
