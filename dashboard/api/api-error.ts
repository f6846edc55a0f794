import type { FieldError } from '../../core/untrusted/fields.ts';

export type ApiErrorKind =
  | 'wrong-key'
  | 'no-key'
  /** The caller is known and lacks a right. */
  | 'forbidden'
  /** The server has no admin key. */
  | 'disabled'
  | 'not-found'
  | 'conflict'
  /** The store of this server does not have the data. */
  | 'not-supported'
  | 'invalid'
  | 'too-many'
  /** The server did not respond. */
  | 'offline'
  | 'server';

/** A request that failed. */
export class ApiError extends Error {
  readonly kind: ApiErrorKind;
  /** The reason, as the server gives it. */
  readonly detail: string;
  /** The invalid members of the request. */
  readonly errors: readonly FieldError[];
  /** Path where the sign-in at the identity provider begins; null: there is none, or the error is not about it. */
  readonly signIn: string | null;

  constructor(
    kind: ApiErrorKind,
    detail: string,
    options: { errors?: readonly FieldError[]; signIn?: string | null; cause?: unknown } = {},
  ) {
    super(detail, { cause: options.cause });
    this.name = 'ApiError';
    this.kind = kind;
    this.detail = detail;
    this.errors = options.errors ?? [];
    this.signIn = options.signIn ?? null;
  }
}

const KINDS: Readonly<Record<number, ApiErrorKind>> = {
  400: 'invalid',
  401: 'no-key',
  403: 'forbidden',
  404: 'not-found',
  409: 'conflict',
  413: 'invalid',
  415: 'invalid',
  422: 'invalid',
  429: 'too-many',
  501: 'not-supported',
};

/** The error of a response. `body`: its text, a Problem (RFC 9457) unless a proxy responded. */
export function errorOf(status: number, body: string): ApiError {
  const problem = parsed(body);
  const detail =
    typeof problem['detail'] === 'string' ? problem['detail'] : `the server returned status ${status}`;
  const errors = Array.isArray(problem['errors']) ? problem['errors'].filter(isFieldError) : [];
  const signIn = typeof problem['signIn'] === 'string' ? problem['signIn'] : null;
  return new ApiError(kindOf(status, detail), detail, { errors, signIn });
}

function kindOf(status: number, detail: string): ApiErrorKind {
  if (isDisabled(status, detail)) return 'disabled';
  // Every other 403 is about a right, and the credential stays valid.
  if (status === 403 && detail.includes('X-Admin-Key is wrong')) return 'wrong-key';
  return KINDS[status] ?? 'server';
}

/** Other reasons for a 503 pass with time: this one needs the variable, which the server names. */
const isDisabled = (status: number, detail: string): boolean =>
  status === 503 && detail.includes('PLATFORM_ADMIN_KEY');

function parsed(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // The page of a proxy.
    return {};
  }
}

function isFieldError(value: unknown): value is FieldError {
  if (typeof value !== 'object' || value === null) return false;
  const { path, message } = value as Partial<Record<string, unknown>>;
  return typeof path === 'string' && typeof message === 'string';
}
