import { halfJitter } from '../../kube/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Counter, Metrics } from '../../runtime/metrics.ts';
import { fetchAgents, type OutsideControlPlane } from './fetch-agents.ts';
import {
  createMirroredObservations,
  type MirroredObservations,
  type MirrorTarget,
} from './mirrored-observations.ts';

export interface MirrorContext extends MirrorTarget {
  /** null: this operator mirrors nothing, and removes what it once did. */
  source: OutsideControlPlane | null;
  /** Between two readings that succeed, in seconds. */
  pollSeconds: number;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
}

/** Shows the agents of a control plane outside the cluster as AgentObservations, while this process leads. */
export interface Mirror {
  /** Reads the list until `signal` aborts; never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

/** Without an answer for this long nobody knows how the agents are: the stale limit of the default interval. */
const SILENT_MS = 120_000;
/** After a failure; the longest is well under SILENT_MS, so that silence is seen in time. Milliseconds. */
const RETRY = { baseMs: 2_000, maxMs: 60_000 };

export function createMirror(context: MirrorContext): Mirror {
  return new PolledMirror(context);
}

class PolledMirror implements Mirror {
  readonly #context: MirrorContext;
  readonly #observations: MirroredObservations;
  readonly #polls: Counter;
  /** When the list was last read whole, or the lead began; monotonic milliseconds. */
  #heardMs = 0;
  /** In a row. */
  #failures = 0;

  constructor(context: MirrorContext) {
    this.#context = context;
    const { metrics } = context;
    this.#observations = createMirroredObservations(context);
    this.#polls = metrics.counter(
      'platform_operator_mirror_polls_total',
      'Readings of the list of the control plane outside the cluster, by result.',
    );
    if (context.source === null) return;
    metrics.gauge(
      'platform_operator_mirror_up',
      '0 since the control plane outside the cluster could not be read; else 1. Means something on the leader alone.',
      () => [{ value: this.#failures === 0 ? 1 : 0 }],
    );
    metrics.gauge(
      'platform_operator_mirrored_agents',
      'Observations of agents that report elsewhere.',
      () => [{ value: this.#observations.count() }],
    );
  }

  async run(signal: AbortSignal): Promise<void> {
    const { source, clock, pollSeconds } = this.#context;
    this.#heardMs = clock.monotonicMs();
    this.#failures = 0;
    while (!signal.aborted) {
      const isDone =
        source === null ? await this.#observations.removeAll(signal) : await this.#poll(source, signal);
      if (source === null && isDone) return;
      this.#failures = isDone ? 0 : this.#failures + 1;
      const pauseMs = isDone ? pollSeconds * 1_000 : halfJitter(this.#failures - 1, RETRY);
      await clock.sleep(pauseMs, signal).catch(() => undefined);
    }
  }

  /** Whether the list was read. */
  async #poll(source: OutsideControlPlane, signal: AbortSignal): Promise<boolean> {
    const { clock, logger } = this.#context;
    const controlPlane = source.url.origin;
    const list = await fetchAgents(source, signal);
    if (signal.aborted) return false;
    this.#polls.add({ result: list.ok ? 'read' : 'failed' });
    if (!list.ok) {
      // One line an outage: the metric says how long it lasts.
      if (this.#failures === 0)
        logger.warn('cannot read the agents of the control plane outside the cluster, and tries again', {
          controlPlane,
          reason: list.reason,
        });
      if (clock.monotonicMs() - this.#heardMs >= SILENT_MS) await this.#observations.age(signal);
      return false;
    }
    if (this.#failures > 0)
      logger.info('reads the agents of the control plane outside the cluster again', { controlPlane });
    this.#heardMs = clock.monotonicMs();
    await this.#observations.take(list.agents, controlPlane, signal);
    return true;
  }
}
