import { stopDirective, type StopDirective } from '../../core/shapes/agent-stop.ts';
import { nullable, parseWith } from '../../core/shapes/field.ts';
import { isRecord, jsonOf, own } from '../../core/untrusted/fields.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { CurrentManifest } from '../manifest/current-manifest.ts';
import type { Organisation } from '../organisation/organisation.ts';
import type { DirectiveStore } from './directive-store.ts';
import { DirectiveStream, type DirectiveStreamOptions } from './directive-stream.ts';
import type { StopSwitch } from './stop-switch.ts';

export interface DirectivesOptions {
  manifest: Pick<CurrentManifest, 'hash' | 'onChange'>;
  organisation: Pick<Organisation, 'use'>;
  store: DirectiveStore;
  stop: StopSwitch;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
}

const optionalStop = nullable(stopDirective);

/** What the control plane wants this sidecar to apply. It arrives on a stream, and with the responses to heartbeats. */
export class Directives {
  readonly #options: DirectivesOptions;
  #stream: DirectiveStream | null = null;
  /** When the last event of the stream arrived; monotonic clock. */
  #receivedAtMs = -Infinity;
  #hasLoggedInvalid = false;

  /** Applies the stored directives. */
  constructor(options: DirectivesOptions) {
    this.#options = options;
    const { stop, store } = options;
    stop.direct(store.kept.stop);
  }

  /** Connects the stream. */
  start({ authorize }: Pick<DirectiveStreamOptions, 'authorize'>): void {
    const { manifest, clock, logger, signal } = this.#options;
    let sentHash = '';
    const stream = new DirectiveStream({
      ...{ authorize, clock, logger, signal },
      manifestHash: () => (sentHash = manifest.hash),
      onDirectives: (value) => this.#received(value),
    });
    manifest.onChange(() => {
      if (manifest.hash !== sentHash) stream.reconnect();
    });
    this.#stream = stream;
    stream.start();
  }

  /**
   * Takes the stop out of the response to a heartbeat. The response may be older than the last event, so while the stream is connected,
   * a difference only makes it connect again: its first event is the present state.
   * @param askedAtMs when the heartbeat was composed; monotonic clock
   */
  replied(body: string, askedAtMs: number): void {
    const value = jsonOf(body);
    if (!isRecord(value) || !Object.hasOwn(value, 'stop')) return;
    const parsed = parseWith(optionalStop, value['stop']);
    if (!parsed.ok) this.#logInvalid('heartbeat reply');
    // Also the same stop: it may have ended by a clock that was ahead, or it could not be stored.
    else if (isSame(parsed.value, this.#options.stop.directive)) this.#apply(parsed.value);
    else if (this.#stream?.isLive === true) this.#stream.reconnect();
    else if (askedAtMs >= this.#receivedAtMs) this.#apply(parsed.value);
  }

  #received(value: unknown): boolean {
    const stop = isRecord(value) ? own(value, 'stop') : undefined;
    const parsed = parseWith(optionalStop, stop);
    // An absent stop is not a resume.
    if (!isRecord(value) || stop === undefined || !parsed.ok) {
      this.#logInvalid('directive stream');
      return false;
    }
    this.#receivedAtMs = this.#options.clock.monotonicMs();
    this.#apply(parsed.value);
    // On its own, because rules that are not valid must not delay a stop.
    this.#options.organisation.use(value['organisation']);
    return true;
  }

  #apply(stop: StopDirective | null): void {
    this.#options.stop.direct(stop);
    this.#options.store.update({ stop });
  }

  #logInvalid(from: string): void {
    if (!this.#hasLoggedInvalid) this.#options.logger.warn('invalid directives ignored', { from });
    this.#hasLoggedInvalid = true;
  }
}

const isSame = (a: StopDirective | null, b: StopDirective | null): boolean =>
  JSON.stringify(a) === JSON.stringify(b);
