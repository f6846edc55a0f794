/** The read timed out; the pending file call itself cannot be cancelled. */
export const LATE: unique symbol = Symbol('late');

/** Milliseconds; a mounted directory responds immediately or hangs. */
const TIMEOUT_MS = 3000;

interface Line {
  tail: Promise<unknown>;
  /** The read at the head of the queue timed out. */
  isStuck: boolean;
}

/** Process-wide, like the thread pool that runs file calls. A process reads two directories at most. */
const lines = new Map<string, Line>();

/**
 * Runs the reads of one directory one at a time. A call into a hung mount (NFS, a network volume) blocks a thread until the
 * mount responds. The process has four such threads, which also resolve host names. Therefore a directory never blocks more
 * than one thread, and while it does, other reads of that directory return LATE immediately.
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
