import type { RequestListener } from 'node:http';
import { createApp, type Route } from '../runtime/http-app.ts';
import { withShortcut } from '../runtime/json-shortcut.ts';
import { processRoutes } from '../runtime/process-routes.ts';
import { withUploadBudget } from '../runtime/upload-budget.ts';
import type { WebhookContext } from './context.ts';
import { BODY_LIMIT, createReviews, mutateRoutes, MUTATE_PATH, type Reviews } from './routes/mutate.ts';

/** Of bodies that arrive next to each other. Nearly every review is a few kilobytes long. */
const UPLOAD_BYTES = 16 * 2 ** 20;
/** The API server waits for at most 30 s. */
const BODY_MS = 30_000;
/** Bytes per second; an API server sends this much in some milliseconds. */
const SLOW_RATE = 2 ** 20;

/** The table of routes: the API server's questions, and what the kubelet and Prometheus ask. */
export function webhookRoutes(context: WebhookContext, reviews: Reviews = createReviews(context)): Route[] {
  return [...mutateRoutes(reviews), ...processRoutes(context)];
}

/** The application, with the API server's questions on a shorter way. */
export function createWebhookApp(context: WebhookContext): RequestListener {
  const { logger } = context;
  const reviews = createReviews(context);
  const app = createApp({ logger, routes: webhookRoutes(context, reviews) });
  const handler = withShortcut(app, { path: MUTATE_PATH, limit: BODY_LIMIT, logger, ...reviews });
  // Any pod can send bodies of the limit's size; many of them together would exceed the memory limit.
  const { clock } = context;
  return withUploadBudget(handler, { bytes: UPLOAD_BYTES, bodyMs: BODY_MS, slowRate: SLOW_RATE, clock });
}
