import { X509Certificate } from 'node:crypto';
import type { KubeClient } from '../../kube/client.ts';
import { expectOk, getObject } from '../../kube/objects.ts';
import { objectPath, type ObjectKey, type Resource } from '../../kube/resources.ts';
import type { Clock } from '../../runtime/clock.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';
import {
  advance,
  isGoodLeaf,
  newLeaf,
  TIMING,
  type CertificateTiming,
  type Circumstances,
} from './advance.ts';
import type { KeyPair } from './issue.ts';
import {
  bundleOf,
  decodedEntries,
  SECRETS,
  trustPatch,
  WEBHOOK_CONFIGURATIONS,
  withEntries,
  type Secret,
  type WebhookConfiguration,
} from './kept-objects.ts';
import { entriesOf, parseTlsState, trustBundle, usablePair, type TlsState } from './tls-state.ts';

export interface CertificateManagerOptions {
  client: KubeClient;
  logger: Logger;
  clock: Clock;
  /** The Secret that this process's replicas share, and the names under which the webhook is reached. */
  webhook: { secret: ObjectKey; hosts: readonly string[] };
  /** The Secret that the control plane mounts, and its names. */
  controlPlane: { secret: ObjectKey; hosts: readonly string[] };
  /** The MutatingWebhookConfiguration that must trust the webhook. */
  configuration: string;
  /** Gives a certificate to the server. */
  serve(leaf: KeyPair): void;
  /** Has it been seen that the API server, trusting just `trusted`, takes what is served? See `proof.ts`. */
  isProven(trusted: string, signal: AbortSignal): Promise<boolean>;
  timing?: CertificateTiming;
  /** Milliseconds between two looks at the Secrets and the configuration. */
  everyMs?: number;
}

/** Keeps the product's certificates: makes, shares, renews and rotates them, and has them trusted. */
export interface CertificateManager {
  start(): void;
  close(): Promise<void>;
  /** What sidecars are to trust; null until there is an authority. */
  trust(): string | null;
  /** Why the API server cannot be answered yet; null: it can. */
  unready(): string | null;
  /** The end of the served certificate. */
  expiresAt(): Date | null;
}

export function createCertificateManager(options: CertificateManagerOptions): CertificateManager {
  return new CertificateRotation(options);
}

/** Another replica wrote first as often in a row as this; the next look tries again. */
const CONFLICT_ATTEMPTS = 5;

class CertificateRotation implements CertificateManager {
  readonly #options: CertificateManagerOptions;
  readonly #timing: CertificateTiming;
  readonly #stop = new AbortController();
  #loop: Promise<void> | null = null;
  #served: KeyPair | null = null;
  #trust: string | null = null;
  readonly #seen = new Map<string, { value: string; since: number }>();
  #unready: string | null = 'the serving certificate is not made yet';

  constructor(options: CertificateManagerOptions) {
    this.#options = options;
    this.#timing = options.timing ?? TIMING;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  trust(): string | null {
    return this.#trust;
  }

  unready(): string | null {
    return this.#unready;
  }

  expiresAt(): Date | null {
    return this.#served && new X509Certificate(this.#served.cert).validToDate;
  }

  async #run(): Promise<void> {
    const { clock, logger, everyMs = 10_000 } = this.#options;
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      try {
        await this.#look();
        failures = 0;
      } catch (error) {
        if (this.#isStopping()) return;
        failures += 1;
        if (this.#unready !== null) this.#unready = describeError(error);
        logger.warn('certificates cannot be looked after', { error: describeError(error) });
      }
      // Until the first success every half second: an installation waits for it.
      const wait = this.#unready === null ? everyMs : Math.min(500 * 2 ** Math.min(failures, 5), everyMs);
      await clock.sleep(wait, this.#stop.signal).catch(() => undefined);
    }
  }

  #isStopping(): boolean {
    return this.#stop.signal.aborted;
  }

  async #look(): Promise<void> {
    for (let attempt = 0; attempt < CONFLICT_ATTEMPTS; attempt += 1) if (await this.#lookOnce()) return;
    throw new Error('other replicas keep changing the certificates');
  }

  /** false: another replica was faster, and what was read holds no longer. */
  async #lookOnce(): Promise<boolean> {
    const { webhook, controlPlane, configuration } = this.#options;
    // The configuration first: a state that is read after it is no older, and cannot take back trust that another replica gave.
    const current = await this.#read(WEBHOOK_CONFIGURATIONS, { name: configuration });
    const trusted = bundleOf(current);
    const issued = await getObject(this.#options.client, SECRETS, controlPlane.secret, this.#stop.signal);
    const state = await this.#keepState(await this.#read(SECRETS, webhook.secret), trusted, issued);
    if (state === null) return false;
    this.#serve(state, trusted);
    if (!(await this.#keepTrust(current, trustBundle(state)))) return false;
    this.#trust = trustBundle(state);
    this.#unready = null;
    return this.#keepControlPlane(state, issued ?? (await this.#read(SECRETS, controlPlane.secret)));
  }

  /** Takes the steps that are due and writes them into the shared Secret; null: another replica wrote it first. */
  async #keepState(secret: Secret, trusted: string, issued: Secret | null): Promise<TlsState | null> {
    const { clock, logger, webhook, controlPlane } = this.#options;
    const present = parseTlsState(decodedEntries(secret));
    const isProven = present.previous === null || (await this.#options.isProven(trusted, this.#stop.signal));
    const { state, steps } = await advance(present, {
      now: clock.now(),
      hosts: webhook.hosts,
      trusted,
      trustedMs: this.#seenMs('trusted', trusted),
      leafMs: this.#seenMs('leaf', present.leaf?.cert),
      isProven,
      issued: issued === null ? [] : [this.#issuedTo(controlPlane.hosts, leafIn(issued))],
      timing: this.#timing,
    });
    if (steps.length === 0) return state;
    if (!(await this.#put(webhook.secret, withEntries(secret, entriesOf(state))))) return null;
    logger.info('certificates are changed', { steps });
    if (steps.includes('retire-previous') && !isProven)
      logger.warn('the previous authority is trusted no longer, although the canary has not passed since', {
        days: this.#timing.holdDays,
      });
    return state;
  }

  #issuedTo(hosts: readonly string[], leaf: KeyPair | null): Circumstances['issued'][number] {
    return { hosts, leaf, leafMs: this.#seenMs('issued', leaf?.cert) };
  }

  /** For how long `what` has been seen to be just this, milliseconds: a process that starts anew begins to count. */
  #seenMs(what: string, value = ''): number {
    const now = this.#options.clock.monotonicMs();
    const seen = this.#seen.get(what);
    if (seen?.value === value) return now - seen.since;
    this.#seen.set(what, { value, since: now });
    return 0;
  }

  /**
   * A leaf of an authority that the API server does not trust yet, as after the Secret was lost, waits until it does: the
   * one that is served is still trusted. Whoever serves none takes what there is.
   */
  #serve({ leaf, authority }: TlsState, trusted: string): void {
    if (leaf === null || leaf.cert === this.#served?.cert) return;
    if (this.#served !== null && !trusted.includes(authority?.cert ?? '')) return;
    this.#options.serve(leaf);
    this.#served = leaf;
    this.#options.logger.info('certificate is served', { until: this.expiresAt()?.toISOString() });
  }

  async #keepTrust(current: WebhookConfiguration, bundle: string): Promise<boolean> {
    const { client, configuration, logger } = this.#options;
    const operations = trustPatch(current, bundle);
    if (operations.length === 0) return true;
    const answer = await client.send({
      method: 'PATCH',
      path: objectPath(WEBHOOK_CONFIGURATIONS, { name: configuration }),
      body: operations,
      contentType: 'application/json-patch+json',
      signal: this.#stop.signal,
    });
    if (!answer.ok && answer.status === 409) return false;
    expectOk(answer);
    logger.info('caBundle is set', { configuration });
    return true;
  }

  async #keepControlPlane(state: TlsState, secret: Secret): Promise<boolean> {
    const { clock, controlPlane, logger } = this.#options;
    const wanted = { now: clock.now(), hosts: controlPlane.hosts, timing: this.#timing };
    const present = leafIn(secret);
    const leaf = present !== null && isGoodLeaf(present, state, wanted) ? present : null;
    const ca = trustBundle(state);
    if (leaf !== null && decodedEntries(secret)['ca.crt'] === ca) return true;
    const { cert, key } = leaf ?? (await newLeaf(state, wanted));
    const entries = { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca };
    if (!(await this.#put(controlPlane.secret, withEntries(secret, entries)))) return false;
    logger.info('certificate of the control plane is issued', { secret: controlPlane.secret.name });
    return true;
  }

  /** false: somebody else wrote it since it was read. */
  async #put(key: ObjectKey, secret: Secret): Promise<boolean> {
    const path = objectPath(SECRETS, key);
    const { signal } = this.#stop;
    const answer = await this.#options.client.send({ method: 'PUT', path, body: secret, signal });
    if (!answer.ok && answer.status === 409) return false;
    expectOk(answer);
    return true;
  }

  async #read<T>(resource: Resource<T>, key: ObjectKey): Promise<T> {
    const object = await getObject(this.#options.client, resource, key, this.#stop.signal);
    if (object === null) throw new Error(`${resource.kind} ${key.name} is missing: the chart creates it`);
    return object;
  }
}

function leafIn(secret: Secret): KeyPair | null {
  const entries = decodedEntries(secret);
  return usablePair(entries['tls.crt'], entries['tls.key']);
}
