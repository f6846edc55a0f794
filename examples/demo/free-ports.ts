import { createServer } from 'node:net';

/**
 * Below the ports that a system hands out by itself, to a client's end of a connection or to a server that asks for any:
 * nobody gets one of these by chance between this answer and the moment that a process listens there, or is expected not to.
 */
const [FIRST, COUNT, SLICE] = [11_000, 9_000, 60];

/** Each process goes round in a slice of its own, so that several beside each other do not get the same ones. */
const slice = FIRST + (process.pid % (COUNT / SLICE)) * SLICE;
let next = Math.floor(Math.random() * SLICE);

/** Ports that nobody listens on, different ones. Throws when there are not as many. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tried = 0; ports.length < count; tried += 1) {
    if (tried === COUNT) throw new Error(`no ${count} free ports from ${FIRST} to ${FIRST + COUNT - 1}`);
    const port = FIRST + ((slice - FIRST + (next % SLICE) + Math.floor(tried / SLICE) * SLICE) % COUNT);
    next += 1;
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    // Every address, as the product's processes listen.
    server.listen(port, () => server.close(() => resolve(true)));
  });
}
