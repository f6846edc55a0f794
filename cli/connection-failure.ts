import { reasonOf } from '../probe/reason.ts';

const UNTRUSTED = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_SIGNATURE_FAILURE',
]);

/** Why a connection failed, and what to do. `caFile`: the `--ca` file, as typed. */
export function connectionFailure(error: unknown, url: URL, caFile: string | undefined): string {
  const code = codeOf(error);
  if (UNTRUSTED.has(code))
    return caFile === undefined
      ? 'its certificate is not signed by a trusted CA; pass the CA file with --ca'
      : `its certificate is not signed by the CA in ${caFile}`;
  switch (code) {
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `its certificate is not valid for the host name ${url.hostname}`;
    case 'CERT_HAS_EXPIRED':
      return 'its certificate has expired';
    case 'CERT_NOT_YET_VALID':
      return 'its certificate is not valid yet; check the clock of this machine';
    case '':
      return error instanceof Error ? error.message : String(error);
    default:
      return reasonOf(error) + hint(code, url);
  }
}

/** Using http for https, or the reverse, shows as a protocol error. */
function hint(code: string, { protocol }: URL): string {
  if (protocol === 'https:' && (code === 'EPROTO' || code.startsWith('ERR_SSL_')))
    return '; check whether the URL should start with http://';
  if (protocol === 'http:' && (code === 'ECONNRESET' || code.startsWith('HPE_')))
    return '; check whether the URL should start with https://';
  return '';
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : '';
}
