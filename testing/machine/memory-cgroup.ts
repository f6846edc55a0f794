import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const ROOT = '/sys/fs/cgroup';

/** A memory cgroup for a test, as in a container. */
export interface MemoryCgroup {
  /** File to which a process writes its id to be limited. */
  readonly processes: string;
  /** Highest memory use so far, in bytes. */
  readonly peak: () => number;
  /** Removes the cgroup after its processes have ended. */
  readonly remove: () => Promise<void>;
}

/** The layout of both versions: where the cgroup is created, and the files in it. */
function layoutOf(): { parent: string; limit: string; peak: string } | null {
  const v1 = join(ROOT, 'memory');
  if (existsSync(join(v1, 'memory.limit_in_bytes')))
    return { parent: v1, limit: 'memory.limit_in_bytes', peak: 'memory.max_usage_in_bytes' };
  const controllers = join(ROOT, 'cgroup.subtree_control');
  if (existsSync(controllers) && readFileSync(controllers, 'utf8').split(/\s/).includes('memory'))
    return { parent: ROOT, limit: 'memory.max', peak: 'memory.peak' };
  return null;
}

/** Creates a memory cgroup with this limit; returns a reason as string if that is not possible. */
export function createMemoryCgroup(bytes: number): MemoryCgroup | string {
  const layout = layoutOf();
  if (layout === null) return 'no cgroup file system with a memory controller';
  const folder = join(layout.parent, `agent-compliance-test-${process.pid}-${Date.now()}`);
  try {
    mkdirSync(folder);
    writeFileSync(join(folder, layout.limit), String(bytes));
  } catch (error) {
    return `cannot create ${folder}: ${(error as Error).message}`;
  }
  return {
    processes: join(folder, 'cgroup.procs'),
    peak: () => Number(readFileSync(join(folder, layout.peak), 'utf8')),
    remove: async () => {
      // A just-killed process keeps its cgroup busy for a moment.
      for (let attempt = 1; existsSync(folder); attempt += 1)
        try {
          rmdirSync(folder);
        } catch (error) {
          if (attempt === 100) throw error;
          await sleep(50);
        }
    },
  };
}
