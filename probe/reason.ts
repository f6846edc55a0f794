const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection closed without an answer',
  EPIPE: 'connection closed without an answer',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'host not found (the name server gives no answer)',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the host',
  ETIMEDOUT: 'no connection in time',
};

/** Why a connection failed, in words that hold no address: addresses may carry passwords, and reports are public. */
export function reasonOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
  if (Object.hasOwn(REASONS, code)) return REASONS[code] ?? code;
  if (code.startsWith('HPE_')) return 'the answer is not valid HTTP';
  return code === '' ? 'connection failed' : `connection failed (${code})`;
}
