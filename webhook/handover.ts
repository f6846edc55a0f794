import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { request as sendRequest } from 'node:https';
import { isIP } from 'node:net';
import { KubeError } from '../kube/client.ts';
import type { ClusterParts } from '../kube/cluster-parts.ts';
import { expectOk, getObject } from '../kube/objects.ts';
import { objectPath, REPLICA_SETS, SECRETS, type ObjectKey } from '../kube/resources.ts';
import type { Data } from '../kube/types.ts';
import { respondError } from '../runtime/http-app.ts';
import { describeError } from '../runtime/logger.ts';
import { Problem } from '../runtime/problem.ts';
import { isReview } from './routes/reviews.ts';

/** Header of a review that another replica has handed over. Its receiver responds itself, so a review is handed over only once. */
export const HANDED_OVER = 'platform-handed-over';

/** Annotation of the Secret that all replicas share. */
const NEWEST = 'platform.io/newest-injector';
/** Set by the controller of Deployments. It grows with every change of the pod template, and also with a rollback. */
const REVISION = 'deployment.kubernetes.io/revision';

/** How long a replica uses what it has read from the Secret, from the start of the request, and the limit of the request. */
const FRESH_MS = 1_000;
const READ_MS = 1_000;
/** Limit of a connection to the newest replica, and the pause after a failed one. */
const CONNECT_MS = 1_000;
const PAUSE_MS = 10_000;
/** Attempts to write the Secret when other replicas write first. */
const CONFLICT_ATTEMPTS = 5;

/** The version of a replica, and where the replica is. */
interface Replica {
  /** The uid of the Deployment. */
  deployment: string;
  revision: number;
  address: string;
  port: number;
}

export interface HandoverOptions extends ClusterParts {
  /** The Secret that all replicas share. */
  secret: ObjectKey;
  /** The ReplicaSet and the address of this pod; null: not a pod of a Deployment, which hands over nothing. */
  self: { replicaSet: ObjectKey; address: string; port: number } | null;
  /** A name in the certificate of every replica, and the CA certificates that verify it (PEM). */
  host: string;
  trust: () => string | null;
}

/**
 * During a rollout, replicas of the previous version hand over their reviews to a replica of the new version. The API server keeps
 * its connections, so it would otherwise use the previous version until those pods have ended, long after the new pods are ready.
 */
export class Handover {
  readonly #options: HandoverOptions;
  readonly #stop = new AbortController();
  #own: Replica | null = null;
  #newest: Replica | null = null;
  #readAt = -Infinity;
  #reading: Promise<void> | null = null;
  #pausedUntil = -Infinity;

  constructor(options: HandoverOptions) {
    this.#options = options;
  }

  /** Ends requests in flight; call it after the last review. */
  close(): void {
    this.#stop.abort();
  }

  /** Announces this replica, unless a newer version is announced. Resolves when every older replica knows it. */
  async takeOver(signal: AbortSignal): Promise<void> {
    const { client, clock, secret } = this.#options;
    const own = await this.#version(signal);
    this.#own = own;
    if (own === null) return;
    for (let attempt = 0; attempt < CONFLICT_ATTEMPTS; attempt += 1) {
      const stored = await getObject(client, SECRETS, secret, signal);
      const newest = newestIn(stored);
      if (stored === null || isNewer(newest, own) || JSON.stringify(newest) === JSON.stringify(own)) return;
      const annotations = { ...stored.metadata.annotations, [NEWEST]: JSON.stringify(own) };
      const body = { ...stored, metadata: { ...stored.metadata, annotations } };
      const path = objectPath(SECRETS, secret);
      const response = await client.send({ method: 'PUT', path, body, signal });
      if (!response.ok && response.status === 409) continue;
      expectOk(response);
      // An older replica may still use what it has read before.
      if (isNewer(own, newest)) await clock.sleep(FRESH_MS + READ_MS, signal);
      return;
    }
    throw new Error(`other replicas keep changing the Secret ${secret.name}`);
  }

  /** Hands over the reviews among the requests while a newer version is announced; `handler` serves all others. */
  around(handler: RequestListener): RequestListener {
    return (request, response) => {
      if (this.#own === null || !isReview(request) || request.headers[HANDED_OVER] !== undefined)
        handler(request, response);
      else
        void this.#successor(this.#own).then((successor) => {
          if (response.destroyed) return;
          if (successor === null) handler(request, response);
          else this.#handOver(successor, request, response, handler);
        });
    };
  }

  /** The version of this pod; null: unknown. Read again each time, because a rollback makes an old ReplicaSet the newest. */
  async #version(signal: AbortSignal): Promise<Replica | null> {
    const { client, logger, self } = this.#options;
    if (self === null) return null;
    const { replicaSet, address, port } = self;
    const found = await getObject(client, REPLICA_SETS, replicaSet, signal).catch((error) => {
      if (error instanceof KubeError && error.status === 403) return null;
      throw error;
    });
    const deployment = found?.metadata.ownerReferences?.find(({ controller }) => controller)?.uid;
    const revision = Number(found?.metadata.annotations?.[REVISION]);
    if (deployment !== undefined && revision > 0) return { deployment, revision, address, port };
    logger.warn('cannot read the revision of this replica, reviews are not handed over', {
      replicaSet: replicaSet.name,
    });
    return null;
  }

  async #successor(own: Replica): Promise<Replica | null> {
    const now = this.#options.clock.monotonicMs();
    if (now < this.#pausedUntil) return null;
    if (now - this.#readAt >= FRESH_MS)
      await (this.#reading ??= this.#read(now).finally(() => (this.#reading = null)));
    return isNewer(this.#newest, own) ? this.#newest : null;
  }

  /** Never rejects: without a response, this replica continues as before. */
  async #read(now: number): Promise<void> {
    const { client, logger, secret } = this.#options;
    const request = { method: 'GET', path: objectPath(SECRETS, secret), timeoutMs: READ_MS } as const;
    try {
      const newest = newestIn(expectOk(await client.send<Data>({ ...request, signal: this.#stop.signal })));
      if (newest?.revision !== this.#newest?.revision && isNewer(newest, this.#own))
        logger.info('handing over reviews to a newer version', { to: newest?.address });
      this.#newest = newest;
    } catch (error) {
      logger.warn('cannot read the newest version of the injector', { error: describeError(error) });
    }
    this.#readAt = now;
  }

  #handOver(to: Replica, request: IncomingMessage, response: ServerResponse, handler: RequestListener): void {
    const { clock, host, logger, trust } = this.#options;
    const { address, port } = to;
    const { method, url: path } = request;
    const headers = { ...request.headers, connection: 'close', [HANDED_OVER]: 'true' };
    const target = { host: address, port, servername: host, ca: trust() ?? [], agent: false } as const;
    const forwarded = sendRequest({ ...target, method, path, headers, timeout: CONNECT_MS });
    let isConnected = false;
    forwarded.once('socket', (socket) =>
      socket.once('secureConnect', () => {
        isConnected = true;
        forwarded.setTimeout(0);
        request.pipe(forwarded);
      }),
    );
    forwarded.once('timeout', () => forwarded.destroy(new Error('no connection in time')));
    forwarded.once('response', (received) => {
      // The next connection of the API server goes to a replica that is ready.
      response.writeHead(received.statusCode ?? 502, { ...received.headers, connection: 'close' });
      received.once('error', () => response.destroy()).pipe(response);
    });
    forwarded.once('error', (error) => {
      if (response.destroyed) return;
      if (!isConnected) {
        logger.warn('cannot reach the newer version of the injector, responding instead', {
          error: describeError(error),
          to: address,
        });
        this.#pausedUntil = clock.monotonicMs() + PAUSE_MS;
        handler(request, response);
        // After a rollback this version is the newest, and the announced replica is gone.
        this.takeOver(this.#stop.signal).catch(() => undefined);
      } else if (response.headersSent) response.destroy();
      else {
        // The API server repeats a request with this header.
        const problem = new Problem(503, `the newer version of the injector failed: ${error.message}`, {
          headers: { 'Retry-After': '1', Connection: 'close' },
        });
        respondError(logger, problem, { method: method ?? '', path: path ?? '' }, response);
      }
    });
    response.once('close', () => forwarded.destroy());
  }
}

function isNewer(one: Replica | null, other: Replica | null): boolean {
  return one !== null && one.deployment === other?.deployment && one.revision > other.revision;
}

function newestIn(secret: Data | null): Replica | null {
  try {
    const { deployment, revision, address, port } = JSON.parse(
      secret?.metadata.annotations?.[NEWEST] ?? '',
    ) as Record<string, unknown>;
    if (typeof deployment !== 'string' || typeof revision !== 'number') return null;
    // A request to an impossible port would throw.
    if (typeof port !== 'number' || !(port > 0 && port < 65_536)) return null;
    if (typeof address !== 'string' || isIP(address) === 0) return null;
    return { deployment, revision, address, port };
  } catch {
    return null;
  }
}
