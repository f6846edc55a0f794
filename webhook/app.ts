import type { RequestListener } from 'node:http';
import { createApp, type Route } from '../runtime/http-app.ts';
import { withShortcut } from '../runtime/json-shortcut.ts';
import { processRoutes } from '../runtime/process-routes.ts';
import type { WebhookContext } from './context.ts';
import { BODY_LIMIT, createReviews, mutateRoutes, MUTATE_PATH, type Reviews } from './routes/mutate.ts';

/** The table of routes: the API server's questions, and what the kubelet and Prometheus ask. */
export function webhookRoutes(context: WebhookContext, reviews: Reviews = createReviews(context)): Route[] {
  return [...mutateRoutes(reviews), ...processRoutes(context)];
}

/** The application, with the API server's questions on a shorter way. */
export function createWebhookApp(context: WebhookContext): RequestListener {
  const { logger } = context;
  const reviews = createReviews(context);
  const app = createApp({ logger, routes: webhookRoutes(context, reviews) });
  return withShortcut(app, { path: MUTATE_PATH, limit: BODY_LIMIT, logger, ...reviews });
}
