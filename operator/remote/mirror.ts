import { halfJitter } from '../../kube/backoff.ts';
import type { Counter } from '../../runtime/metrics.ts';
import { fetchAgents, type OutsideControlPlane } from './fetch-agents.ts';
import { MirroredObservations, type MirrorTarget } from './mirrored-observations.ts';

export interface MirrorContext extends MirrorTarget {
  /** null: this operator mirrors nothing and removes mirrored observations. */
  source: OutsideControlPlane | null;
  /** Seconds between two successful polls. */
  pollSeconds: number;
}

/** After this time without a response the agents' state is unknown; equals the stale limit of the default interval. */
const SILENT_MS = 120_000;
/** Backoff after a failure, in milliseconds. The maximum is well below SILENT_MS, so that silence is detected in time. */
const RETRY = { baseMs: 2_000, maxMs: 60_000 };

/** Mirrors the agents of a control plane outside the cluster as AgentObservations, while this process is the leader. */
export class Mirror {
  readonly #context: MirrorContext;
  readonly #observations: MirroredObservations;
  readonly #polls: Counter;
  /** When the complete list was last read, or leadership began; monotonic milliseconds. */
  #lastReadMs = 0;
  /** Consecutive failures. */
  #failures = 0;

  constructor(context: MirrorContext) {
    this.#context = context;
    const { metrics } = context;
    this.#observations = new MirroredObservations(context);
    this.#polls = metrics.counter(
      'platform_operator_mirror_polls_total',
      'Polls of the agent list of the remote control plane, by result.',
    );
    if (context.source === null) return;
    metrics.gauge(
      'platform_operator_mirror_up',
      '0 after a failed poll of the remote control plane, else 1. Valid on the leader only.',
      () => [{ value: this.#failures === 0 ? 1 : 0 }],
    );
    metrics.gauge('platform_operator_mirrored_agents', 'Mirrored AgentObservations of remote agents.', () => [
      { value: this.#observations.count() },
    ]);
  }

  /** Polls the list until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { source, clock, pollSeconds } = this.#context;
    this.#lastReadMs = clock.monotonicMs();
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

  /** Returns whether the list was read. */
  async #poll(source: OutsideControlPlane, signal: AbortSignal): Promise<boolean> {
    const { clock, logger } = this.#context;
    const controlPlane = source.url.origin;
    const list = await fetchAgents(source, signal);
    if (signal.aborted) return false;
    this.#polls.add({ result: list.ok ? 'read' : 'failed' });
    if (!list.ok) {
      // One line per outage; the metric shows its duration.
      if (this.#failures === 0)
        logger.warn('failed to list agents of remote control plane, retrying', {
          controlPlane,
          reason: list.reason,
        });
      if (clock.monotonicMs() - this.#lastReadMs >= SILENT_MS) await this.#observations.age(signal);
      return false;
    }
    if (this.#failures > 0) logger.info('agents of remote control plane listed again', { controlPlane });
    this.#lastReadMs = clock.monotonicMs();
    await this.#observations.sync(list.agents, controlPlane, signal);
    return true;
  }
}
