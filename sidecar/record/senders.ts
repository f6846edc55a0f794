import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { FileFollower } from './file-follower.ts';
import { MemorySource } from './memory-source.ts';
import { collector, controlPlane, type Authorize, type Receiver } from './receivers.ts';
import type { ForwardLevel } from './record-fields.ts';
import { isForwarded } from './recorded-line.ts';
import { Sender } from './sender.ts';

export interface SendersOptions {
  /** The file of the record; null: standard output. */
  path: string | null;
  /** What the control plane gets. */
  forward: ForwardLevel;
  /** Base URL of a collector, which needs a file; null: there is none. */
  collectorUrl: URL | null;
  /** Name of the agent. */
  agent: string;
  clock: Clock;
  logger: Logger;
}

/** The copies of the record: to the control plane and to a collector. */
export class Senders {
  readonly all: readonly Sender[];
  /** Takes the lines of each write; null: the senders read the file, or there is no sender. */
  readonly onBatch: ((lines: readonly string[]) => void) | null;
  #authorize: Authorize = () => Promise.reject(new Error('there is no credential'));

  constructor({ path, forward, collectorUrl, agent, clock, logger }: SendersOptions) {
    const memory =
      path === null && forward !== 'off' ? new MemorySource((line) => isForwarded(forward, line)) : null;
    const follow = (suffix: string, accepts: (line: string) => boolean): FileFollower | null =>
      path === null
        ? null
        : new FileFollower({ path, positionPath: `${path}.${suffix}`, accepts, clock, logger });
    const all: Sender[] = [];
    const add = (source: MemorySource | FileFollower | null, receiver: Receiver): void => {
      if (source !== null) all.push(new Sender({ source, receiver, clock, logger }));
    };
    if (forward !== 'off')
      add(
        memory ?? follow('forward', (line) => isForwarded(forward, line)),
        controlPlane((signal) => this.#authorize(signal), clock),
      );
    if (collectorUrl !== null)
      add(
        follow('otlp', () => true),
        collector(collectorUrl, agent, clock),
      );
    this.all = all;
    this.onBatch = memory?.add ?? null;
  }

  /** `authorize`: null: there is no control plane. */
  start(authorize: Authorize | null): void {
    this.#authorize = authorize ?? this.#authorize;
    for (const sender of this.all) sender.start();
  }

  /** Sends what is there, for `graceMs` milliseconds at most. Call it after the last line. */
  async close(graceMs: number): Promise<void> {
    await Promise.all(this.all.map((sender) => sender.close(graceMs)));
  }
}
