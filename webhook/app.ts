import type { RequestListener } from 'node:http';
import { createApp, type Route } from '../runtime/http-app.ts';
import { withShortcut } from '../runtime/json-shortcut.ts';
import { processRoutes } from '../runtime/process-routes.ts';
import { withUploadBudget } from '../runtime/upload-budget.ts';
import type { WebhookContext } from './context.ts';
import { createReviews, mutateRoutes } from './routes/mutate.ts';
import { BODY_LIMIT, createMeasure, MUTATE_PATH } from './routes/reviews.ts';
import { validateRoutes } from './routes/validate.ts';

/** Memory budget for bodies that are received at the same time. Nearly every review has only a few kilobytes. */
const UPLOAD_BYTES = 16 * 2 ** 20;
/** The API server waits at most 30 s. */
const BODY_MS = 30_000;
/** Bytes per second; an API server sends this amount within milliseconds. */
const SLOW_RATE = 2 ** 20;

/** The table of routes: admission reviews of the API server, and the routes for the kubelet and Prometheus. */
export function webhookRoutes(
  context: WebhookContext,
  measure = createMeasure(context),
  reviews = createReviews(context, measure),
): Route[] {
  return [...mutateRoutes(reviews), ...validateRoutes(context, measure), ...processRoutes(context)];
}

/** The application. Admission reviews of pods take a shortcut past the router. */
export function createWebhookApp(context: WebhookContext): RequestListener {
  const { logger } = context;
  const measure = createMeasure(context);
  const reviews = createReviews(context, measure);
  const app = createApp({ logger, routes: webhookRoutes(context, measure, reviews) });
  const handler = withShortcut(app, { path: MUTATE_PATH, limit: BODY_LIMIT, logger, ...reviews });
  // Any pod can send bodies up to the size limit. Many of them at the same time would exceed the memory limit.
  const { clock } = context;
  return withUploadBudget(handler, { bytes: UPLOAD_BYTES, bodyMs: BODY_MS, slowRate: SLOW_RATE, clock });
}
