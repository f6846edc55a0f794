import { systemClock, type Clock } from '../runtime/clock.ts';
import { ManifestWorker } from '../runtime/manifest-worker.ts';
import type { Route } from '../runtime/http-app.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { Secret } from '../runtime/secret.ts';
import { createApiServerOutage } from './outage-log.ts';
import { NO_ACCESS, withKeys, type Access } from './auth/access/access.ts';
import { keyIdentifier } from './auth/admin-key.ts';
import type { PersonAccess } from './auth/authorize.ts';
import { createOidc } from './auth/oidc/oidc.ts';
import type { SignIn } from './auth/oidc/sign-in.ts';
import type { CallerDependencies } from './auth/caller.ts';
import type { Identifier } from './auth/principal.ts';
import { createRegistrationTokens, signingKeysOf } from './auth/registration-token.ts';
import type { ControlPlaneConfig } from './config.ts';
import { NO_RULES, Organisation } from './organisation/organisation.ts';
import { OwnEvents } from './record/own-events.ts';
import { NO_STOPS } from './stops/stop-storage.ts';
import { DEFAULT_ROOT_NAMESPACE, Stops } from './stops/stops.ts';

/**
 * A row of the route table. The application checks the credential before the handlers: of an agent (`bearer`), or of a person or
 * program, who needs the named right (`person`: none).
 */
export type ControlPlaneRoute = Route<'open' | 'bearer' | PersonAccess>;

/** Dependencies of the routes. */
export interface ControlPlaneContext extends CallerDependencies {
  logger: Logger;
  metrics: Metrics;
  /** null: not configured. */
  adminKey: Secret | null;
  /** A key that can only read; null: not configured. */
  readKey: Secret | null;
  /** The kinds of credentials of persons and programs, in the order in which they are tried. */
  identifiers: readonly Identifier[];
  /** Whether people can sign in with an identity provider. */
  hasSignOn: boolean;
  access: Access;
  /** The namespaces that have agents, as of at most one second ago. */
  namespaces(): Promise<readonly string[]>;
  /** Whether a proof is refused whose `verifiedBy` is its caller. */
  isApproverNotAuthor: boolean;
  /** The prefix of the names that come from an identity provider. */
  userPrefix: string;
  organisation: Organisation;
  stops: Stops;
  /** The audit events of this process; null: the store keeps none. */
  ownEvents: OwnEvents | null;
  /** Sign-in with an identity provider; null: not configured. */
  signIn: SignIn | null;
  /** Minimum time between two accepted heartbeats of one instance; 0: no limit. */
  rateLimitSeconds: number;
  /** null: ready; else the reason for `/readyz`. */
  unready(): string | null;
  /** Aborts when the process stops: ends the event streams. */
  stopping: AbortSignal;
}

type Given = Pick<ControlPlaneContext, 'logger' | 'metrics' | 'store' | 'pods'> &
  Partial<Pick<ControlPlaneContext, 'clock' | 'apiServer' | 'organisation' | 'access' | 'stops'>> & {
    /** Sign-on with an identity provider: bearer tokens and sessions. */
    signOn?: readonly Identifier[];
    /** Tokens of the cluster. */
    kubernetesTokens?: Identifier | null;
    /** The name of this replica in its audit events; default: `local`. */
    instance?: string;
  };

/** How long the namespaces are kept, in milliseconds. Each event stream asks for them with each poll. */
const NAMESPACES_MS = 1_000;

export interface ContextParts extends Given {
  config: ControlPlaneConfig;
  /** True after the stop signal. */
  isStopping?: () => boolean;
  /** Default: never aborts. */
  stopping?: AbortSignal;
}

export function createContext({ config, isStopping, stopping, ...given }: ContextParts): ControlPlaneContext {
  const { PLATFORM_ADMIN_KEY: adminKey, PLATFORM_READ_KEY: readKey } = config;
  const { clock = systemClock, logger, metrics, store, pods } = given;
  const { signOn = [], kubernetesTokens = null, access = NO_ACCESS, instance = 'local' } = given;
  const isNamed = access.isNamed === undefined ? null : access.isNamed.bind(access);
  const oidc = createOidc({ config: config.oidc, adminKey, clock, logger, isNamed });
  const stops =
    given.stops ?? new Stops({ storage: NO_STOPS, rootNamespace: DEFAULT_ROOT_NAMESPACE, clock, logger });
  const { rootNamespace } = stops;
  const events = store.auditEvents;
  const keys = signingKeysOf(config.JWT_SECRET, adminKey);
  return {
    logger,
    metrics,
    store,
    pods,
    clock,
    apiServer: given.apiServer ?? createApiServerOutage({ clock, logger }),
    tokens: keys && createRegistrationTokens(keys),
    adminKey,
    readKey,
    // A bearer token of an identity provider first: the last identifier rejects every bearer token that it does not know.
    identifiers: [
      keyIdentifier({ adminKey, readKey, clock, logger, metrics }),
      ...signOn,
      ...(oidc.signIn === null ? [] : [oidc.bearer, oidc.session]),
      ...(kubernetesTokens === null ? [] : [kubernetesTokens]),
    ],
    hasSignOn: signOn.length > 0 || oidc.signIn !== null,
    access: withKeys(access),
    namespaces: keptFor(clock, NAMESPACES_MS, () => store.namespaces()),
    isApproverNotAuthor: config.PROOF_APPROVER_NOT_AUTHOR,
    userPrefix: config.oidc?.prefix ?? '',
    organisation: given.organisation ?? new Organisation(NO_RULES, new ManifestWorker()),
    stops,
    ownEvents: events && new OwnEvents({ store: events, clock, instance, rootNamespace }),
    signIn: oidc.signIn,
    remoteNamespace: config.REMOTE_NAMESPACE,
    rateLimitSeconds: config.RATE_LIMIT_SECONDS,
    unready: () => (isStopping?.() ? 'this process is stopping' : store.unready()),
    stopping: stopping ?? new AbortController().signal,
  };
}

/** The result of `read` of at most `maxMs` ago. Concurrent calls share one. */
function keptFor<T>(clock: Clock, maxMs: number, read: () => Promise<T>): () => Promise<T> {
  let kept: { result: Promise<T>; atMs: number } | null = null;
  return () => {
    const nowMs = clock.monotonicMs();
    if (kept === null || nowMs - kept.atMs >= maxMs) {
      const mine = { result: read(), atMs: nowMs };
      kept = mine;
      mine.result.catch(() => kept === mine && (kept = null));
    }
    return kept.result;
  };
}
