import { X509Certificate } from 'node:crypto';
import type { KubeClient } from '../../kube/client.ts';
import { expectOk, getObject } from '../../kube/objects.ts';
import { objectPath, type ObjectKey, type Resource } from '../../kube/resources.ts';
import type { KubeObject } from '../../kube/types.ts';
import type { Clock } from '../../runtime/clock.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';
import { advance, isGoodLeaf, newLeaf, TIMING, type CertificateTiming } from './advance.ts';
import type { KeyPair } from './issue.ts';
import { entriesOf, parseTlsState, trustBundle, usablePair, type TlsState } from './tls-state.ts';

interface Secret extends KubeObject {
  data?: Record<string, string>;
}

interface WebhookConfiguration extends KubeObject {
  webhooks?: { name: string; clientConfig: { caBundle?: string } }[];
}

const SECRETS: Resource<Secret> = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret' };
const WEBHOOK_CONFIGURATIONS: Resource<WebhookConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'mutatingwebhookconfigurations',
  kind: 'MutatingWebhookConfiguration',
};

export interface KeeperOptions {
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
  timing?: CertificateTiming;
  /** Milliseconds between two looks at the Secrets and the configuration. */
  everyMs?: number;
}

/** Keeps the product's certificates: makes, shares, renews and rotates them, and has them trusted. */
export interface CertificateKeeper {
  start(): void;
  close(): Promise<void>;
  /** What sidecars are to trust; null until there is an authority. */
  trust(): string | null;
  /** Why the API server cannot be answered yet; null: it can. */
  unready(): string | null;
  /** The end of the served certificate. */
  expiresAt(): Date | null;
}

export function createCertificateKeeper(options: KeeperOptions): CertificateKeeper {
  return new Keeper(options);
}

/** Another replica wrote first as often in a row as this; the next look tries again. */
const CONFLICT_ATTEMPTS = 5;

class Keeper implements CertificateKeeper {
  readonly #options: KeeperOptions;
  readonly #timing: CertificateTiming;
  readonly #stop = new AbortController();
  #loop: Promise<void> | null = null;
  #served: KeyPair | null = null;
  #trust: string | null = null;
  #unready: string | null = 'the serving certificate is not made yet';

  constructor(options: KeeperOptions) {
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
    const state = await this.#keepState();
    this.#serve(state);
    await this.#keepTrust(trustBundle(state));
    this.#trust = trustBundle(state);
    this.#unready = null;
    await this.#keepControlPlane(state);
  }

  /** Reads the shared Secret, takes the steps that are due, and writes it back unless another replica was faster. */
  async #keepState(): Promise<TlsState> {
    const { client, clock, logger, webhook } = this.#options;
    for (let attempt = 0; attempt < CONFLICT_ATTEMPTS; attempt += 1) {
      const secret = await this.#secret(webhook.secret);
      const trusted = bundleOf(await this.#configuration());
      const { state, steps } = await advance(parseTlsState(decoded(secret)), {
        now: clock.now(),
        hosts: webhook.hosts,
        trusted,
        timing: this.#timing,
      });
      if (steps.length === 0) return state;
      const answer = await client.send({
        method: 'PUT',
        path: objectPath(SECRETS, webhook.secret),
        body: { ...secret, data: encoded(entriesOf(state)) },
      });
      if (!answer.ok && answer.status === 409) continue;
      expectOk(answer);
      logger.info('certificates are changed', { steps });
      return state;
    }
    throw new Error(`Secret ${webhook.secret.name}: other replicas keep writing it`);
  }

  #serve(state: TlsState): void {
    const { leaf } = state;
    if (leaf === null || leaf.cert === this.#served?.cert) return;
    this.#options.serve(leaf);
    this.#served = leaf;
    this.#options.logger.info('certificate is served', { until: this.expiresAt()?.toISOString() });
  }

  async #keepTrust(bundle: string): Promise<void> {
    const { client, configuration, logger } = this.#options;
    const current = await this.#configuration();
    const caBundle = Buffer.from(bundle).toString('base64');
    // By index, as JSON Patch has it: the tests make sure that the index still means the same webhook.
    const operations = (current.webhooks ?? []).flatMap((webhook, index) =>
      webhook.clientConfig.caBundle === caBundle
        ? []
        : [
            { op: 'test', path: `/webhooks/${index}/name`, value: webhook.name },
            { op: 'add', path: `/webhooks/${index}/clientConfig/caBundle`, value: caBundle },
          ],
    );
    if (operations.length === 0) return;
    expectOk(
      await client.send({
        method: 'PATCH',
        path: objectPath(WEBHOOK_CONFIGURATIONS, { name: configuration }),
        body: operations,
        contentType: 'application/json-patch+json',
      }),
    );
    logger.info('caBundle is set', { configuration });
  }

  async #keepControlPlane(state: TlsState): Promise<void> {
    const { client, clock, controlPlane, logger } = this.#options;
    const secret = await this.#secret(controlPlane.secret);
    const entries = decoded(secret);
    const wanted = { now: clock.now(), hosts: controlPlane.hosts, timing: this.#timing };
    const leaf = usablePair(entries['tls.crt'], entries['tls.key']);
    const ca = trustBundle(state);
    if (isGoodLeaf(leaf, state, wanted) && entries['ca.crt'] === ca) return;
    const { cert, key } = leaf && isGoodLeaf(leaf, state, wanted) ? leaf : await newLeaf(state, wanted);
    const answer = await client.send({
      method: 'PUT',
      path: objectPath(SECRETS, controlPlane.secret),
      body: { ...secret, data: encoded({ 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca }) },
    });
    // Another replica did the same; the next look sees whether it is well.
    if (!answer.ok && answer.status === 409) return;
    expectOk(answer);
    logger.info('certificate of the control plane is issued', { secret: controlPlane.secret.name });
  }

  async #secret(key: ObjectKey): Promise<Secret> {
    const secret = await getObject(this.#options.client, SECRETS, key, this.#stop.signal);
    if (secret === null) throw new Error(`Secret ${key.name} is missing: the chart creates it empty`);
    return secret;
  }

  async #configuration(): Promise<WebhookConfiguration> {
    const name = this.#options.configuration;
    const configuration = await getObject(
      this.#options.client,
      WEBHOOK_CONFIGURATIONS,
      { name },
      this.#stop.signal,
    );
    if (configuration === null) throw new Error(`MutatingWebhookConfiguration ${name} is missing`);
    return configuration;
  }
}

/** What all webhooks of the configuration trust: nothing where they differ. */
function bundleOf(configuration: WebhookConfiguration): string {
  const bundles = new Set(
    (configuration.webhooks ?? []).map(({ clientConfig }) => clientConfig.caBundle ?? ''),
  );
  const [bundle = ''] = bundles;
  return bundles.size === 1 ? Buffer.from(bundle, 'base64').toString('utf8') : '';
}

function decoded(secret: Secret): Record<string, string> {
  return Object.fromEntries(
    Object.entries(secret.data ?? {}).map(([name, value]) => [
      name,
      Buffer.from(value, 'base64').toString('utf8'),
    ]),
  );
}

function encoded(entries: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(entries).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
  );
}
