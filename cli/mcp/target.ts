import type { Environment } from '../../runtime/env.ts';
import { notFound, usableKey, type Found } from '../admin-key.ts';
import { parseHttpUrl } from '../http-url.ts';

/** The environment variables that arguments of a call override. */
export const VARIABLES = {
  sidecarUrl: 'PLATFORM_SIDECAR_URL',
  controlPlaneUrl: 'PLATFORM_CONTROL_PLANE_URL',
  adminKey: 'PLATFORM_ADMIN_KEY',
} as const;

/** Where the data of an agent comes from. */
export type Target =
  | { mode: 'sidecar'; base: URL }
  /** A control plane. */
  | { mode: 'operator'; base: URL; adminKey: string };

/** Arguments of a call that select the target. */
export interface TargetInput {
  sidecarUrl?: string | undefined;
  controlPlaneUrl?: string | undefined;
  adminKey?: string | undefined;
  agentName?: string | undefined;
}

const NO_TARGET = `no sidecar and no control plane: pass sidecarUrl, or controlPlaneUrl and adminKey; or set ${VARIABLES.sidecarUrl}, or ${VARIABLES.controlPlaneUrl} and ${VARIABLES.adminKey}`;

/**
 * The target of a call about one agent. Arguments override variables. If the variables name a sidecar and a control plane, a
 * call with `agentName` uses the control plane.
 */
export function targetOf(input: TargetInput, env: Environment): Found<Target> {
  const { sidecarUrl, controlPlaneUrl, adminKey, agentName } = input;
  const wantsOperator = controlPlaneUrl !== undefined || adminKey !== undefined;
  if (sidecarUrl !== undefined && wantsOperator)
    return notFound('pass either sidecarUrl, or controlPlaneUrl and adminKey');
  if (sidecarUrl !== undefined) return sidecarAt(sidecarUrl, 'sidecarUrl');
  const ownSidecar = setIn(env, VARIABLES.sidecarUrl);
  const hasControlPlane = setIn(env, VARIABLES.controlPlaneUrl) !== undefined;
  if (!wantsOperator && ownSidecar !== undefined && !(hasControlPlane && agentName !== undefined))
    return sidecarAt(ownSidecar, VARIABLES.sidecarUrl);
  return wantsOperator || hasControlPlane ? controlPlaneOf(input, env) : notFound(NO_TARGET);
}

/** The sidecar of a call that only needs evidence. */
export function sidecarOf({ sidecarUrl }: Pick<TargetInput, 'sidecarUrl'>, env: Environment): Found<URL> {
  const url = sidecarUrl ?? setIn(env, VARIABLES.sidecarUrl);
  if (url === undefined) return notFound(`no sidecar: pass sidecarUrl, or set ${VARIABLES.sidecarUrl}`);
  const target = sidecarAt(url, sidecarUrl === undefined ? VARIABLES.sidecarUrl : 'sidecarUrl');
  return target.ok ? { ok: true, value: target.value.base } : target;
}

/** The control plane of a call. */
export function controlPlaneOf(input: TargetInput, env: Environment): Found<Target & { mode: 'operator' }> {
  const { controlPlaneUrl } = input;
  const url = controlPlaneUrl ?? setIn(env, VARIABLES.controlPlaneUrl);
  if (url === undefined)
    return notFound(`no control plane: pass controlPlaneUrl, or set ${VARIABLES.controlPlaneUrl}`);
  const base = parseHttpUrl(url);
  if (base === null)
    return notUrl(controlPlaneUrl === undefined ? VARIABLES.controlPlaneUrl : 'controlPlaneUrl');
  const key = adminKeyFor(base, input, env);
  return key.ok ? { ok: true, value: { mode: 'operator', base, adminKey: key.value } } : key;
}

/** The key of the environment is sent only to the control plane of the environment: a call can name any address. */
function adminKeyFor(base: URL, { adminKey }: TargetInput, env: Environment): Found<string> {
  if (adminKey !== undefined) return usableKey(adminKey, 'adminKey');
  const own = setIn(env, VARIABLES.adminKey);
  if (own === undefined) return notFound(`no admin key: pass adminKey, or set ${VARIABLES.adminKey}`);
  const ownUrl = parseHttpUrl(setIn(env, VARIABLES.controlPlaneUrl) ?? '');
  return ownUrl?.origin === base.origin
    ? usableKey(own, VARIABLES.adminKey)
    : notFound(
        `${VARIABLES.adminKey} is sent only to the address in ${VARIABLES.controlPlaneUrl}; pass adminKey together with controlPlaneUrl`,
      );
}

function sidecarAt(url: string, name: string): Found<Target & { mode: 'sidecar' }> {
  const base = parseHttpUrl(url);
  return base === null ? notUrl(name) : { ok: true, value: { mode: 'sidecar', base } };
}

/** The value may contain a password, so it is not shown. */
const notUrl = (name: string) => notFound(`${name} must be an http(s) URL without a query`);

/** A variable that is set to an empty text counts as not set. */
function setIn(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
}
