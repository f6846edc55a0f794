import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const ROOT = '/sys/fs/cgroup';

/** A memory cgroup of this test, as a container has one. */
export interface MemoryCgroup {
  /** A process that writes its id into this file is limited from then on. */
  readonly processes: string;
  /** Highest memory use so far, in bytes. */
  readonly peak: () => number;
  /** Once its processes have ended. */
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

/** Creates a memory cgroup with this limit; a string says why this machine cannot have one. */
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
      // A process that was just killed keeps its cgroup busy for a moment.
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
