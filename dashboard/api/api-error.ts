import type { FieldError } from '../../core/untrusted/fields.ts';

export type ApiErrorKind =
  | 'wrong-key'
  | 'no-key'
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

  constructor(kind: ApiErrorKind, detail: string, errors: readonly FieldError[] = [], cause?: unknown) {
    super(detail, { cause });
    this.name = 'ApiError';
    this.kind = kind;
    this.detail = detail;
    this.errors = errors;
  }
}

const KINDS: Readonly<Record<number, ApiErrorKind>> = {
  400: 'invalid',
  401: 'no-key',
  403: 'wrong-key',
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
  return new ApiError(isDisabled(status, detail) ? 'disabled' : (KINDS[status] ?? 'server'), detail, errors);
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
