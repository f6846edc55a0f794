import { reasonOf } from '../probe/reason.ts';

const UNTRUSTED = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_SIGNATURE_FAILURE',
]);

/** Why a server could not be asked, and what to do. `caFile`: the CA that was given, as it was typed. */
export function connectionFailure(error: unknown, url: URL, caFile: string | undefined): string {
  const code = codeOf(error);
  if (UNTRUSTED.has(code))
    return caFile === undefined
      ? 'its certificate is from no CA that is trusted here: name the file of its CA with --ca'
      : `its certificate is not from the CA in ${caFile}`;
  switch (code) {
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `its certificate is for other names than ${url.hostname}`;
    case 'CERT_HAS_EXPIRED':
      return 'its certificate has expired';
    case 'CERT_NOT_YET_VALID':
      return 'its certificate is not valid yet; is the clock of this machine right?';
    case '':
      return error instanceof Error ? error.message : String(error);
    default:
      return reasonOf(error) + hint(code, url);
  }
}

/** The wrong one of http and https shows as noise. */
function hint(code: string, { protocol }: URL): string {
  if (protocol === 'https:' && (code === 'EPROTO' || code.startsWith('ERR_SSL_')))
    return '; does it speak http:// there?';
  if (protocol === 'http:' && (code === 'ECONNRESET' || code.startsWith('HPE_')))
    return '; does it speak https:// there?';
  return '';
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : '';
}
