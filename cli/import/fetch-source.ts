import { MAX_MANIFEST_BYTES } from '../../core/manifest/parse-manifest.ts';
import { exchange } from '../../probe/http-exchange.ts';
import { notFound, type Found } from '../admin-key.ts';
import { shownUrl } from '../sidecar-request.ts';

/** For all requests together. */
const TIMEOUT_MS = 15_000;
const MAX_REDIRECTS = 5;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** Gets a document over HTTP, through at most five redirects. Never rejects. */
export async function fetchSource(start: URL): Promise<Found<Uint8Array>> {
  const end = performance.now() + TIMEOUT_MS;
  let url = start;
  for (let redirects = 0; ; redirects += 1) {
    const shown = shownUrl(url);
    const response = await exchange(url, {
      headers: { accept: 'application/json, application/yaml, */*', 'accept-encoding': 'identity' },
      maxBytes: MAX_MANIFEST_BYTES,
      timeoutMs: Math.max(1, Math.round(end - performance.now())),
    });
    if (!response.answered) return notFound(`cannot connect to ${shown}: ${response.reason}`);
    const { status, headers, body } = response;
    if (!REDIRECTS.includes(status)) {
      if (status !== 200) return notFound(`${shown} returned ${status}`);
      if (body === null)
        return notFound(`${shown} did not send a response of at most 1 MiB within ${TIMEOUT_MS / 1_000} s`);
      return { ok: true, value: body };
    }
    if (redirects === MAX_REDIRECTS)
      return notFound(`more than ${MAX_REDIRECTS} redirects from ${shownUrl(start)}`);
    const next = targetOf(headers.location, url);
    if (next === null) return notFound(`${shown} redirects to an address that is not an http(s) URL`);
    if (url.protocol === 'https:' && next.protocol === 'http:')
      return notFound(`${shown} redirects to an address without encryption`);
    url = next;
  }
}

function targetOf(location: string | undefined, base: URL): URL | null {
  const url = location === undefined ? null : URL.parse(location, base.href);
  return url !== null && ['http:', 'https:'].includes(url.protocol) ? url : null;
}
