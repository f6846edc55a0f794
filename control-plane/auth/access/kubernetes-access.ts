import { createHash } from 'node:crypto';
import { setNewest } from '../../../core/untrusted/set-newest.ts';
import { reviewAccess, type AccessQuestion } from '../../../kube/access-review.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { AGENT_OBSERVATIONS } from '../../../kube/resources.ts';
import { Semaphore } from '../../../kube/semaphore.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { ApiServerOutage } from '../../outage-log.ts';
import { tryAgain } from '../../try-again.ts';
import type { Principal } from '../principal.ts';
import type { Access, AccessRight } from './access.ts';

/** How long a decision is cached, in milliseconds. A caller who gets a right waits for the shorter time only. */
const ALLOWED_MS = 60_000;
const DENIED_MS = 10_000;
/** While the API server is unavailable, the last decision about a read counts for this time, in milliseconds. */
const OUTAGE_MS = 300_000;
/** After a failed review no review is sent for this time, in milliseconds, so that a request does not wait for one after the other. */
const PAUSE_MS = 2_000;
const MAX_CACHED = 10_000;
const MAX_IN_FLIGHT = 8;
/** A request in the `system:` groups or with such a name would have rights that no administrator gave to it. */
const RESERVED = 'system:';

const OBSERVATIONS = AGENT_OBSERVATIONS.plural;

/** The permission of RBAC that gives each right. `proofs` and `actions` are subresources in RBAC only. */
const PERMISSIONS: Readonly<Record<AccessRight, Pick<AccessQuestion, 'verb' | 'resource' | 'subresource'>>> =
  {
    read: { verb: 'list', resource: OBSERVATIONS },
    stop: { verb: 'create', resource: 'agentstops' },
    resume: { verb: 'delete', resource: 'agentstops' },
    prove: { verb: 'create', resource: OBSERVATIONS, subresource: 'proofs' },
    withdraw: { verb: 'delete', resource: OBSERVATIONS, subresource: 'proofs' },
    register: { verb: 'create', resource: OBSERVATIONS },
    remove: { verb: 'delete', resource: OBSERVATIONS },
    actions: { verb: 'list', resource: OBSERVATIONS, subresource: 'actions' },
  };

interface Decision {
  isAllowed: boolean;
  /** Monotonic. */
  atMs: number;
}

export interface KubernetesAccessOptions {
  client: KubeClient;
  clock: Clock;
  apiServer: Pick<ApiServerOutage, 'failed'>;
}

/** Asks Kubernetes, so that its RBAC decides what a caller may do here, as with kubectl. */
export class KubernetesAccess implements Access {
  readonly #options: KubernetesAccessOptions;
  readonly #decisions = new Map<string, Decision>();
  readonly #inFlight = new Map<string, Promise<boolean>>();
  readonly #slots = new Semaphore(MAX_IN_FLIGHT);
  readonly #digests = new WeakMap<Principal, string>();
  #pausedUntilMs = -Infinity;

  constructor(options: KubernetesAccessOptions) {
    this.#options = options;
  }

  async can(principal: Principal, right: AccessRight, namespace: string | null): Promise<boolean> {
    const { method, user } = principal;
    if (user === '' || (method !== 'kubernetes' && user.startsWith(RESERVED))) return false;
    if (this.#fresh(this.#keyOf(principal, right, null))?.isAllowed === true) return true;
    const key = this.#keyOf(principal, right, namespace);
    const known = this.#fresh(key);
    if (known !== undefined) return known.isAllowed;
    const running = this.#inFlight.get(key) ?? this.#review(key, principal, { right, namespace });
    this.#inFlight.set(key, running);
    return running;
  }

  async #review(
    key: string,
    principal: Principal,
    { right, namespace }: { right: AccessRight; namespace: string | null },
  ): Promise<boolean> {
    const { client, clock, apiServer } = this.#options;
    const question: AccessQuestion = {
      ...{ user: principal.user, groups: groupsOf(principal), group: AGENT_OBSERVATIONS.group },
      ...PERMISSIONS[right],
      ...(namespace !== null && { namespace }),
    };
    try {
      const isAllowed = await this.#slots.run(() => {
        if (clock.monotonicMs() < this.#pausedUntilMs) throw new Error('the API server was unavailable');
        return reviewAccess(client, question).catch((error: unknown) => {
          this.#pausedUntilMs = clock.monotonicMs() + PAUSE_MS;
          apiServer.failed(error);
          throw error;
        });
      });
      setNewest(this.#decisions, [key, { isAllowed, atMs: clock.monotonicMs() }], MAX_CACHED);
      return isAllowed;
    } catch (error) {
      const last = this.#last(key, this.#keyOf(principal, right, null));
      if (right === 'read' && last !== undefined && clock.monotonicMs() - last.atMs < OUTAGE_MS)
        return last.isAllowed;
      throw tryAgain('cannot check the rights of the caller: the API server is unavailable; try again', 2, {
        cause: error,
      });
    } finally {
      this.#inFlight.delete(key);
    }
  }

  #fresh(key: string): Decision | undefined {
    const known = this.#decisions.get(key);
    if (known === undefined) return undefined;
    const ageMs = this.#options.clock.monotonicMs() - known.atMs;
    return ageMs < (known.isAllowed ? ALLOWED_MS : DENIED_MS) ? known : undefined;
  }

  /** The last decision about a namespace. Of a caller who has the right in all namespaces there is often none. */
  #last(key: string, everywhere: string): Decision | undefined {
    const [own, all] = [this.#decisions.get(key), this.#decisions.get(everywhere)];
    return all?.isAllowed === true && all.atMs >= (own?.atMs ?? -Infinity) ? all : own;
  }

  #keyOf(principal: Principal, right: AccessRight, namespace: string | null): string {
    return `${this.#digestOf(principal)}/${right}/${namespace ?? ''}`;
  }

  /** A caller can have hundreds of groups, which would be repeated in each key of the cache. */
  #digestOf(principal: Principal): string {
    const known = this.#digests.get(principal);
    if (known !== undefined) return known;
    const text = JSON.stringify([principal.user, groupsOf(principal)]);
    const digest = createHash('sha256').update(text).digest('base64url');
    this.#digests.set(principal, digest);
    return digest;
  }
}

/** The groups that count. Only the API server gives a caller a group of its own. */
function groupsOf({ method, groups }: Principal): readonly string[] {
  const accepted = method === 'kubernetes' ? groups : groups.filter((group) => !group.startsWith(RESERVED));
  return [...new Set([...accepted, 'system:authenticated'])];
}
