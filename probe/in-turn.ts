/** No answer in time; the call itself cannot be taken back. */
export const LATE: unique symbol = Symbol('late');

/** Milliseconds; a mounted folder answers at once or hangs. */
const TIMEOUT_MS = 3000;

interface Line {
  tail: Promise<unknown>;
  /** What stands first did not come to its end in time. */
  isStuck: boolean;
}

/** Of this process, as the threads are that file calls wait in. A process has two folders at most. */
const lines = new Map<string, Line>();

/**
 * Reads in a folder, one at a time. A call into a mount that hangs (NFS, a network volume) holds a thread until the mount
 * returns, and the process has four, which look up host names too: so no folder ever holds more than one, and while it
 * does, nobody else queues for it.
 */
export async function inTurn<T>(folder: string, read: () => Promise<T>): Promise<T | typeof LATE> {
  const line = lines.get(folder) ?? { tail: Promise.resolve(), isStuck: false };
  lines.set(folder, line);
  if (line.isStuck) return LATE;
  const reading = line.tail.then(read);
  line.tail = reading
    .catch(() => undefined)
    .then(() => {
      line.isStuck = false;
    });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => {
      line.isStuck = true;
      resolve(LATE);
    }, TIMEOUT_MS);
  });
  return Promise.race([reading, late]).finally(() => clearTimeout(timer));
}
