import type { AuthorizedRequest } from '../../push/push-heartbeat.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { collector, controlPlane, type Destination } from './destinations.ts';
import { FileFollower } from './file-follower.ts';
import { MemorySource } from './memory-source.ts';
import { isForwarded, type ForwardLevel } from './recorded-line.ts';
import { Sender } from './sender.ts';

export interface SendersOptions {
  /** The file of the record; null: standard output. */
  path: string | null;
  /** What the control plane gets; null: nothing. */
  forward: {
    level: ForwardLevel;
    authorize: (signal: AbortSignal) => Promise<AuthorizedRequest>;
  } | null;
  /** Base URL of a collector, which needs a file; null: there is none. */
  collectorUrl: URL | null;
  /** Name of the agent. */
  agent: () => string;
  clock: Clock;
  logger: Logger;
}

/** The copies of the record: to the control plane and to a collector. */
export class Senders {
  readonly all: readonly Sender[];
  /** Takes the lines of each write; null: the senders read the file, or there is no sender. */
  readonly onBatch: ((lines: readonly string[]) => void) | null;

  constructor(options: SendersOptions) {
    const { path, forward, collectorUrl, agent, clock, logger } = options;
    const all: Sender[] = [];
    let memory: MemorySource | null = null;
    const follow = (suffix: string, destination: Destination, accepts: (line: string) => boolean): void => {
      const source =
        path === null
          ? (memory = new MemorySource(accepts))
          : new FileFollower({ path, positionPath: `${path}.${suffix}`, accepts, clock, logger });
      all.push(new Sender({ source, destination, clock, logger }));
    };
    if (forward !== null)
      follow('forward', controlPlane(forward.authorize, clock), (line) => isForwarded(forward.level, line));
    if (collectorUrl !== null && path !== null)
      follow('otlp', collector(collectorUrl, agent, clock), () => true);
    this.all = all;
    this.onBatch = (memory as MemorySource | null)?.add ?? null;
  }

  start(): void {
    for (const sender of this.all) sender.start();
  }

  /** Sends what is there, for `graceMs` milliseconds at most. Call it after the last line. */
  async close(graceMs: number): Promise<void> {
    await Promise.all(this.all.map((sender) => sender.close(graceMs)));
  }
}
