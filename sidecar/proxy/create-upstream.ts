import { createPlainUpstream } from './plain-upstream.ts';
import { createPooledUpstream } from './pooled-upstream.ts';
import type { Upstream, UpstreamOptions } from './upstream.ts';

/**
 * The way to the agent. undici sends a head only with the first byte of its body, knows no request trailers and refuses
 * `OPTIONS *`; so requests whose length is not known ahead, and that one, go through node:http.
 */
export function createUpstream(options: UpstreamOptions): Upstream {
  const pooled = createPooledUpstream(options);
  const plain = createPlainUpstream(options);
  return {
    send(request, handler) {
      const way = request.chunked || request.path === '*' ? plain : pooled;
      way.send(request, handler);
    },
    close: async () => {
      await Promise.all([pooled.close(), plain.close()]);
    },
  };
}
