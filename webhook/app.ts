import type { RequestListener } from 'node:http';
import { createApp, type Route } from '../runtime/http-app.ts';
import { withShortcut } from '../runtime/json-shortcut.ts';
import { oneLargeRequestAtATime } from '../runtime/large-requests.ts';
import { processRoutes } from '../runtime/process-routes.ts';
import type { WebhookContext } from './context.ts';
import { BODY_LIMIT, createReviews, mutateRoutes, MUTATE_PATH, type Reviews } from './routes/mutate.ts';

/** Nearly every review is a few kilobytes long. */
const LARGE_BYTES = 2 ** 20;
/** The API server waits for at most 30 s. */
const LARGE_MS = 30_000;
const MOST_WAITING = 100;

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
  const limits = { above: LARGE_BYTES, holdMs: LARGE_MS, mostWaiting: MOST_WAITING, clock: context.clock };
  // Any pod can send a body of the limit's size; many of them together would exceed the memory limit.
  return oneLargeRequestAtATime(handler, limits);
}
