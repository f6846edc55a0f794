import { X509Certificate } from 'node:crypto';
import { KubeError, type KubeRequest } from '../../kube/client.ts';
import type { ClusterParts } from '../../kube/cluster-parts.ts';
import { bundleOf, decodedEntries } from '../../kube/encoded.ts';
import { expectOk, getObject } from '../../kube/objects.ts';
import {
  objectPath,
  SECRETS,
  VALIDATING_CONFIGURATIONS,
  WEBHOOK_CONFIGURATIONS,
  type ObjectKey,
  type Resource,
} from '../../kube/resources.ts';
import type { Data, WebhookConfiguration } from '../../kube/types.ts';
import { describeError } from '../../runtime/logger.ts';
import { advance, isGoodLeaf, newLeaf, TIMING, type CertificateTiming } from './advance.ts';
import type { KeyPair } from '../../runtime/http-listener.ts';
import type { LeafUse } from './leaf-use.ts';
import { isCurrentCaSufficient, type CurrentCaSources } from './current-ca.ts';
import { entriesOf, parseTlsState, trustBundle, type TlsState } from './tls-state.ts';

export interface CertificateManagerOptions extends CurrentCaSources, ClusterParts {
  leafUse: Pick<LeafUse, 'isUsed' | 'serve'>;
  /** The Secret that this process's replicas share, and the host names of the webhook. */
  webhook: { secret: ObjectKey; hosts: readonly string[] };
  /** The Secret that the control plane mounts, and the host names of the control plane. */
  controlPlane: { secret: ObjectKey; hosts: readonly string[] };
  /** The MutatingWebhookConfiguration that must trust the webhook. */
  configuration: string;
  /** The ValidatingWebhookConfiguration that must trust it as well; null: there is none. */
  manifestConfiguration: string | null;
  /** Called when requests can be served, before this process becomes ready. Repeated until it resolves. */
  beforeReady: (signal: AbortSignal) => Promise<void>;
  timing?: CertificateTiming;
  /** Milliseconds between two reconciliations of the Secrets and the configuration. */
  everyMs?: number;
}

/** Attempts per reconciliation when other replicas write first. */
const CONFLICT_ATTEMPTS = 5;

/** Manages the product's certificates: issues, shares, renews and rotates them, and maintains the caBundle. */
export class CertificateManager {
  readonly #options: CertificateManagerOptions;
  readonly #timing: CertificateTiming;
  readonly #stop = new AbortController();
  #loop: Promise<void> | null = null;
  #served: KeyPair | null = null;
  #trust: string | null = null;
  readonly #observed = new Map<string, { value: string; since: number }>();
  #unready: string | null = 'the serving certificate has not been issued yet';

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

  /** The CA certificates for sidecars; null until a CA exists. */
  trust(): string | null {
    return this.#trust;
  }

  /** Why requests of the API server cannot be served yet; null: ready. */
  unready(): string | null {
    return this.#unready;
  }

  /** Expiry of the serving certificate. */
  expiresAt(): Date | null {
    return this.#served && new X509Certificate(this.#served.cert).validToDate;
  }

  async #run(): Promise<void> {
    const { clock, logger, everyMs = 10_000 } = this.#options;
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      try {
        await this.#reconcile();
        failures = 0;
      } catch (error) {
        if (this.#isStopping()) return;
        failures += 1;
        if (this.#unready !== null) this.#unready = describeError(error);
        logger.warn('certificate reconciliation failed', { error: describeError(error) });
      }
      // Shorter pauses until the first success, because the installation waits for it.
      const wait = this.#unready === null ? everyMs : Math.min(500 * 2 ** Math.min(failures, 5), everyMs);
      await clock.sleep(wait, this.#stop.signal).catch(() => undefined);
    }
  }

  #isStopping(): boolean {
    return this.#stop.signal.aborted;
  }

  async #reconcile(): Promise<void> {
    for (let attempt = 0; attempt < CONFLICT_ATTEMPTS; attempt += 1) if (await this.#reconcileOnce()) return;
    throw new Error('other replicas keep changing the certificates');
  }

  /** false: another replica wrote first, so the objects that were read are outdated. */
  async #reconcileOnce(): Promise<boolean> {
    const { webhook, controlPlane } = this.#options;
    // Read the configurations first. The state is then at least as new and cannot revoke trust that another replica added.
    const current = await this.#readConfigurations();
    const trusted = bundleOf({ webhooks: current.flatMap(({ object }) => object.webhooks ?? []) });
    const issued = await getObject(this.#options.client, SECRETS, controlPlane.secret, this.#stop.signal);
    const state = await this.#updateState(await this.#read(SECRETS, webhook.secret), trusted, issued);
    if (state === null) return false;
    this.#serve(state, trusted);
    for (const each of current) if (!(await this.#updateTrust(each, trustBundle(state)))) return false;
    this.#trust = trustBundle(state);
    if (this.#unready !== null) await this.#options.beforeReady(this.#stop.signal);
    this.#unready = null;
    return this.#updateControlPlane(state, issued ?? (await this.#read(SECRETS, controlPlane.secret)));
  }

  /** Applies the due steps and writes the result into the shared Secret; null: another replica wrote it first. */
  async #updateState(secret: Data, trusted: string, issued: Data | null): Promise<TlsState | null> {
    const { clock, logger, webhook, controlPlane } = this.#options;
    const current = parseTlsState(decodedEntries(secret));
    const isSufficient =
      current.previousCa === null || (await isCurrentCaSufficient(trusted, this.#options, this.#stop.signal));
    const other = issued && leafIn(issued);
    const { state, steps } = await advance(current, {
      now: clock.now(),
      hosts: webhook.hosts,
      trusted,
      trustedMs: this.#unchangedMs('trusted', trusted),
      leafMs: this.#unchangedMs('leaf', current.leaf?.cert),
      isCurrentCaSufficient: isSufficient,
      issued: issued
        ? [{ hosts: controlPlane.hosts, leaf: other, leafMs: this.#unchangedMs('issued', other?.cert) }]
        : [],
      timing: this.#timing,
    });
    if (steps.length === 0) return state;
    if (!(await this.#putEntries(webhook.secret, secret, entriesOf(state)))) return null;
    logger.info('certificates updated', { steps });
    if (steps.includes('retire-previous') && !isSufficient)
      logger.warn('previous CA removed after the hold time without a passed canary', {
        days: this.#timing.holdDays,
      });
    return state;
  }

  /** Milliseconds since `what` was observed to change to `value`. The count starts again when the process restarts. */
  #unchangedMs(what: string, value = ''): number {
    const now = this.#options.clock.monotonicMs();
    const observed = this.#observed.get(what);
    if (observed?.value === value) return now - observed.since;
    this.#observed.set(what, { value, since: now });
    return 0;
  }

  /**
   * After the Secret was lost, the API server does not trust the CA of the new leaf yet. Until then the process keeps
   * serving the old leaf, which is still trusted. A process without a leaf serves the new leaf at once.
   */
  #serve({ leaf, ca }: TlsState, trusted: string): void {
    if (leaf === null || leaf.cert === this.#served?.cert) return;
    if (this.#served !== null && !trusted.includes(ca?.cert ?? '')) return;
    this.#options.leafUse.serve(leaf);
    this.#served = leaf;
    this.#options.logger.info('serving certificate loaded', { until: this.expiresAt()?.toISOString() });
  }

  /** Without the configuration for manifests, or the right to read it, pods are still injected. */
  async #readConfigurations(): Promise<Configuration[]> {
    const { client, configuration, logger, manifestConfiguration } = this.#options;
    const required = await this.#read(WEBHOOK_CONFIGURATIONS, { name: configuration });
    const own = { resource: WEBHOOK_CONFIGURATIONS, object: required };
    if (manifestConfiguration === null) return [own];
    const resource = VALIDATING_CONFIGURATIONS;
    const { signal } = this.#stop;
    const object = await getObject(client, resource, { name: manifestConfiguration }, signal).catch(
      (error) => {
        if (!(error instanceof KubeError) || error.status !== 403) throw error;
        logger.warn('cannot read the configuration for manifests, its caBundle is not updated', {
          error: describeError(error),
        });
        return null;
      },
    );
    return object === null ? [own] : [own, { resource, object }];
  }

  async #updateTrust({ resource, object }: Configuration, bundle: string): Promise<boolean> {
    const operations = trustPatch(object, bundle);
    if (operations.length === 0) return true;
    const { name } = object.metadata;
    const path = objectPath(resource, { name });
    const contentType = 'application/json-patch+json';
    if (!(await this.#write({ method: 'PATCH', path, contentType, body: operations }))) return false;
    this.#options.logger.info('caBundle updated', { configuration: name });
    return true;
  }

  async #updateControlPlane(state: TlsState, secret: Data): Promise<boolean> {
    const { clock, controlPlane, logger } = this.#options;
    const wanted = { now: clock.now(), hosts: controlPlane.hosts, timing: this.#timing };
    const current = leafIn(secret);
    const leaf = current !== null && isGoodLeaf(current, state, wanted) ? current : null;
    const ca = trustBundle(state);
    if (leaf !== null && decodedEntries(secret)['ca.crt'] === ca) return true;
    const { cert, key } = leaf ?? (await newLeaf(state, wanted));
    const entries = { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca };
    if (!(await this.#putEntries(controlPlane.secret, secret, entries))) return false;
    logger.info('control plane certificate Secret updated', { secret: controlPlane.secret.name });
    return true;
  }

  /** The Secret gets exactly these entries. false: another process wrote the Secret after it was read. */
  #putEntries(key: ObjectKey, secret: Data, entries: Record<string, string>): Promise<boolean> {
    const encoded = Object.entries(entries).map(([name, value]) => [
      name,
      Buffer.from(value).toString('base64'),
    ]);
    const body = { ...secret, data: Object.fromEntries(encoded) as Record<string, string> };
    return this.#write({ method: 'PUT', path: objectPath(SECRETS, key), body });
  }

  /** false: another process wrote the object after it was read. */
  async #write(request: KubeRequest): Promise<boolean> {
    const response = await this.#options.client.send({ ...request, signal: this.#stop.signal });
    if (!response.ok && response.status === 409) return false;
    expectOk(response);
    return true;
  }

  async #read<T>(resource: Resource<T>, key: ObjectKey): Promise<T> {
    const object = await getObject(this.#options.client, resource, key, this.#stop.signal);
    if (object === null) throw new Error(`${resource.kind} ${key.name} does not exist; the chart creates it`);
    return object;
  }
}

/** A configuration as it was read. */
interface Configuration {
  resource: Resource<WebhookConfiguration>;
  object: WebhookConfiguration;
}

function leafIn(secret: Data): KeyPair | null {
  return parseTlsState(decodedEntries(secret)).leaf;
}

/**
 * The JSON Patch that sets `bundle` in every webhook of the configuration; empty if all have it. The API server responds
 * with 409 if the configuration was changed after it was read.
 */
function trustPatch(configuration: WebhookConfiguration, bundle: string): unknown[] {
  const caBundle = Buffer.from(bundle).toString('base64');
  const operations = (configuration.webhooks ?? []).flatMap(({ clientConfig }, index) =>
    clientConfig.caBundle === caBundle
      ? []
      : [{ op: 'add', path: `/webhooks/${index}/clientConfig/caBundle`, value: caBundle }],
  );
  if (operations.length === 0) return [];
  const { resourceVersion } = configuration.metadata;
  return [{ op: 'add', path: '/metadata/resourceVersion', value: resourceVersion }, ...operations];
}
