import { createServer } from 'node:net';

/**
 * Below the ephemeral ports that the system assigns to clients or to servers on port 0. So no other process gets one of these
 * ports by chance before it is used.
 */
const [FIRST, COUNT, SLICE] = [11_000, 9_000, 60];

/** Each process uses its own slice, so that concurrent processes do not get the same ports. */
const slice = FIRST + (process.pid % (COUNT / SLICE)) * SLICE;
let next = Math.floor(Math.random() * SLICE);

/** Returns different unused ports. Throws if there are not enough. */
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
    // On every address, like the product's processes.
    server.listen(port, () => server.close(() => resolve(true)));
  });
}
