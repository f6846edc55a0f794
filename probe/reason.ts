const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection closed without a response',
  EPIPE: 'connection closed without a response',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'host not found (the DNS server does not respond)',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the host',
  ETIMEDOUT: 'connection timed out',
};

/** Why a connection failed. Contains no address, because addresses may contain passwords and reports are public. */
export function reasonOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
  if (Object.hasOwn(REASONS, code)) return REASONS[code] ?? code;
  if (code.startsWith('HPE_')) return 'the response is not valid HTTP';
  return code === '' ? 'connection failed' : `connection failed (${code})`;
}
