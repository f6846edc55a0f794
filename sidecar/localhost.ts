import dns, { type LookupAddress } from 'node:dns';

const LOOPBACK: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

type Callback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/**
 * Resolves `localhost` to both loopback addresses in this process, IPv4 first. Some servers that listen on `::`, such as
 * Python's asyncio, accept IPv6 only. The hosts file is not used: an image may lack `::1`, and a pod's `hostAliases` may
 * map `localhost` to another address.
 */
export function resolveLocalhostToLoopback(): void {
  const lookup = dns.lookup as (hostname: string, options: object, callback: Callback) => void;
  const pinned = (hostname: string, options: unknown, callback?: Callback): void => {
    const done = callback ?? (options as Callback);
    const { all = false, family = 0 } = readOptions(options);
    if (hostname !== 'localhost') {
      lookup(hostname, readOptions(options), done);
      return;
    }
    const found = LOOPBACK.filter((each) => family === 0 || each.family === family);
    const [first] = found;
    process.nextTick(() => {
      if (all || first === undefined) done(null, found);
      else done(null, first.address, first.family);
    });
  };
  dns.lookup = Object.assign(pinned, dns.lookup);
}

interface Options {
  all?: boolean;
  family?: number;
}

/** Accepts the options as an object or a family number; `family` may also be a text. */
function readOptions(options: unknown): Options {
  if (typeof options === 'number') return { family: options };
  if (typeof options !== 'object' || options === null) return {};
  const { family, ...rest } = options as { family?: unknown };
  const version = family === 'IPv4' ? 4 : family === 'IPv6' ? 6 : family;
  return typeof version === 'number' ? { ...rest, family: version } : rest;
}
