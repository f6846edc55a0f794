import type { Express } from 'express';
import { createApp } from '../runtime/http-app.ts';
import type { Logger } from '../runtime/logger.ts';
import { processRoutes, type ProcessState } from '../runtime/process-routes.ts';

export interface OperatorAppContext extends ProcessState {
  logger: Logger;
}

/** The operator serves only health and metrics. */
export function createOperatorApp(context: OperatorAppContext): Express {
  return createApp({ logger: context.logger, routes: processRoutes(context) });
}
