import { hasNoIpv6 } from '../runtime/http-listener.ts';

/** The agent runs in the same pod or on the same machine. */
const HOSTS = ['127.0.0.1', '::1'] as const;

/**
 * Starts a server on each loopback address, one after the other; a kernel without IPv6 has one address. If a start fails, calls
 * `close`, which ends what was started, and rejects with the failure.
 */
export async function startOnLoopback(
  start: (host: string) => Promise<void>,
  close: () => Promise<void>,
): Promise<void> {
  for (const host of HOSTS) {
    try {
      await start(host);
    } catch (error) {
      if (host === '::1' && hasNoIpv6(error)) continue;
      await close();
      throw error;
    }
  }
}
