import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { KubeClient } from './client.ts';

/** What the components of a process share that work with an API server. */
export interface ClusterParts {
  client: KubeClient;
  clock: Clock;
  logger: Logger;
}
