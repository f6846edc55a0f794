import { parseWith, type Field } from '../core/shapes/field.ts';
import { jsonOf } from '../core/untrusted/fields.ts';
import { exchange } from '../probe/http-exchange.ts';
import { detailOf, urlBelow } from '../push/push-heartbeat.ts';
import { notFound, type Found } from './admin-key.ts';
import type { CliContext } from './context.ts';
import { credentialHeader, readCa, warnPlain } from './control-plane-access.ts';
import { shownUrl } from './sidecar-request.ts';

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 64 * 1024 * 1024;

export interface ControlPlaneAccess {
  base: URL;
  headers: Readonly<Record<string, string>>;
  ca: string | null;
}

/** The control plane at `base`, with the credential of the caller. */
export async function accessTo(
  base: URL,
  { ca: caFile, adminKeyFile }: { ca?: string; adminKeyFile?: string },
  context: CliContext,
): Promise<Found<ControlPlaneAccess>> {
  const credential = await credentialHeader(adminKeyFile, context);
  if (!credential.ok) return credential;
  const ca = await readCa(caFile, base, context);
  if (!ca.ok) return ca;
  warnPlain(base, 'the admin key or the token is', context);
  return { ok: true, value: { base, headers: credential.value, ca: ca.value } };
}

/** `GET path` below `/api/v1`, as text. */
async function getText(
  { base, headers, ca }: ControlPlaneAccess,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<Found<string>> {
  const url = urlBelow(base, `/api/v1${path}`);
  url.search = new URLSearchParams(query).toString();
  const server = shownUrl(base);
  const response = await exchange(url, {
    ...{ headers, maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS, ca: ca ?? undefined },
  });
  if (!response.answered) return notFound(`cannot connect to ${server}: ${response.reason}`);
  const { status, body } = response;
  const text = body?.toString('utf8') ?? '';
  if (status !== 200) {
    const detail = detailOf(text);
    return notFound(`${server} returned ${status} for GET /api/v1${path}${detail && `: ${detail}`}`);
  }
  return body === null
    ? notFound(`${server} sent no complete response to GET /api/v1${path}`)
    : { ok: true, value: text };
}

/** The response to `GET path` below `/api/v1`. Never rejects. */
export async function getFrom<T>(
  access: ControlPlaneAccess,
  path: string,
  { query = {}, field }: { query?: Readonly<Record<string, string>>; field: Field<T> },
): Promise<Found<T>> {
  const found = await getText(access, path, query);
  if (!found.ok) return found;
  const parsed = parseWith(field, jsonOf(found.value));
  return parsed.ok
    ? { ok: true, value: parsed.value }
    : notFound(`the control plane returned an invalid response to GET /api/v1${path}; check its version`);
}
