import { createHttpUpstream } from '../http-client/create-http-upstream.ts';
import { createPlainUpstream } from './plain-upstream.ts';
import { createPooledUpstream } from './pooled-upstream.ts';
import type { Upstream, UpstreamOptions } from './upstream.ts';

/** Creates the client for the agent. */
export function createUpstream(options: UpstreamOptions): Upstream {
  return options.url.protocol === 'https:' ? createTlsUpstream(options) : createHttpUpstream(options);
}

/**
 * undici sends a request head only with the first body byte, has no request trailers and rejects `OPTIONS *`. Therefore chunked
 * requests and `OPTIONS *` use node:https.
 */
function createTlsUpstream(options: UpstreamOptions): Upstream {
  const pooled = createPooledUpstream(options);
  const plain = createPlainUpstream(options);
  return {
    send(request, handler) {
      const upstream = request.chunked || request.path === '*' ? plain : pooled;
      upstream.send(request, handler);
    },
    close: async () => {
      await Promise.all([pooled.close(), plain.close()]);
    },
  };
}
