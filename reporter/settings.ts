import type { Environment } from '../probe/references.ts';
import type { PolicyCheckSettings } from './policy-check.ts';

/** How model calls are evaluated, and the outcome without a decision. */
export interface PolicyOptions {
  /** Base URL of the policy engine; default: `POLICY_URL`, else the rules are evaluated in this process. */
  url?: string;
  /** Default false: without a decision the call is allowed. */
  failClosed?: boolean;
  /** Timeout of one query, in milliseconds; default 1000. */
  timeoutMs?: number;
}

const SIDECAR_URL = 'http://127.0.0.1:4001';

/** Throws RangeError on an invalid value. */
export function policySettings(options: PolicyOptions | undefined, env: Environment): PolicyCheckSettings {
  const { url, failClosed = false, timeoutMs } = options ?? {};
  if (typeof failClosed !== 'boolean') throw new RangeError('policy.failClosed must be true or false');
  return {
    url: httpUrl({ option: ['policy.url', url], variable: ['POLICY_URL', env['POLICY_URL']] }),
    failClosed,
    timeoutMs: milliseconds('policy.timeoutMs', timeoutMs, 1000),
  };
}

/** Throws RangeError on an invalid value. */
export function sidecarUrl(option: string | undefined, env: Environment): URL {
  const name = 'PLATFORM_SIDECAR_URL';
  return httpUrl({ option: ['sidecarUrl', option], variable: [name, env[name]] }) ?? new URL(SIDECAR_URL);
}

type NamedValue = [name: string, value: string | undefined];

/** null: neither is set. An empty variable counts as unset, because charts render an empty string for an unset value. */
function httpUrl({ option, variable }: { option: NamedValue; variable: NamedValue }): URL | null {
  const [name, value] = option[1] === undefined ? variable : option;
  if (value === undefined || (value === '' && option[1] === undefined)) return null;
  const url = URL.parse(value);
  // The value is not printed, because a URL can contain a password.
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new RangeError(`${name} must be a URL with the http: or https: protocol`);
  return url;
}

/** Throws RangeError if the value is not a valid timer delay. */
export function milliseconds(name: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  // With a larger value setTimeout would fire immediately.
  if (Number.isInteger(value) && value >= 1 && value <= 2_147_483_647) return value;
  throw new RangeError(`${name} must be a whole number of milliseconds from 1 to 2147483647`);
}
