// Pods with the Python and the framework packages of this machine, because the node has no registry. The directories are mounted
// from the host: a local cluster has the same files.
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from './kubectl.ts';

const SCRIPT = join(import.meta.dirname, '../scripts/framework-packages.sh');

export interface PythonHome {
  /** Directory of the interpreter, its standard library and its packages. */
  home: string;
  /** Name of the interpreter in `home`/bin: `python3.11`. */
  program: string;
  packages: string;
  /** Shared objects of the machine, which the interpreter is linked to. */
  libraries: string;
}

/** The Python with the packages of testing/frameworks, or why there is none. */
export function findPython(): PythonHome | { missing: string } {
  if ((process.env['E2E_KUBECONFIG'] ?? '') !== '')
    return { missing: 'an external cluster does not have the files of this machine' };
  try {
    const folder = execFileSync(SCRIPT, ['python', '--installed'], { encoding: 'utf8' }).trim();
    const ask = 'import sys; print(sys.base_prefix, "python%d.%d" % sys.version_info[:2])';
    const [home = '', program = ''] = execFileSync(join(folder, 'bin/python'), ['-c', ask], {
      encoding: 'utf8',
    })
      .trim()
      .split(' ');
    const [libraries] = globSync('/usr/lib/*-linux-gnu');
    if (libraries === undefined) return { missing: 'the shared objects of a Debian are missing' };
    return { home, program, packages: join(folder, 'lib', program, 'site-packages'), libraries };
  } catch (error) {
    return { missing: String((error as { stdout?: string }).stdout ?? error).trim() };
  }
}

export const hasPython = (found: ReturnType<typeof findPython>): found is PythonHome => !('missing' in found);

/** Turns a container of e2e/programs into one that runs its Python program; `volumes` belong to the spec of its pod. */
export function pythonContainer(
  container: KubeObject,
  { home, program, packages, libraries }: PythonHome,
): { container: KubeObject; volumes: KubeObject[] } {
  const mounts = { home, packages, libraries };
  const {
    env = [],
    volumeMounts = [],
    ...rest
  } = container as { env?: KubeObject[]; volumeMounts?: KubeObject[] };
  const variables = {
    PYTHONHOME: '/python/home',
    PYTHONPATH: '/python/packages',
    PYTHONDONTWRITEBYTECODE: '1',
    LD_LIBRARY_PATH: '/python/home/lib:/python/libraries',
  };
  return {
    container: {
      ...rest,
      command: [`/python/home/bin/${program}`],
      env: [...Object.entries(variables).map(([name, value]) => ({ name, value })), ...env],
      volumeMounts: [
        ...volumeMounts,
        ...Object.keys(mounts).map((name) => ({ name, mountPath: `/python/${name}`, readOnly: true })),
      ],
    },
    volumes: Object.entries(mounts).map(([name, path]) => ({ name, hostPath: { path, type: 'Directory' } })),
  };
}
