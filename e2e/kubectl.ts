// kubectl as the suites use it: objects in and out, a clear error with what it complained about, and patience.
import type { Cluster } from './cluster/cluster.ts';

export type KubeObject = Readonly<Record<string, unknown>>;

export interface Kubectl {
  /** Runs kubectl and returns what it printed; throws what it complained about. */
  run: (...args: string[]) => Promise<string>;
  apply: (objects: readonly KubeObject[]) => Promise<string>;
  /** The object as JSON; throws when it is not there. */
  get: <T = KubeObject>(...args: string[]) => Promise<T>;
  /** Runs a script with the Node.js of a container (`pod` may be `deploy/NAME`) and returns what it printed. */
  script: (pod: string, container: string, script: string) => Promise<string>;
}

export function kubectlOf(cluster: Cluster, namespace: string): Kubectl {
  const run = async (args: string[], input = ''): Promise<string> => {
    const { stdout, stderr, code } = await cluster.exec(['kubectl', '-n', namespace, ...args], { input });
    if (code !== 0) throw new Error(`kubectl ${args.slice(0, 4).join(' ')}: ${stderr || stdout}`);
    return stdout;
  };
  return {
    run: (...args) => run(args),
    apply: (objects) =>
      run(['apply', '-f', '-'], objects.map((each) => JSON.stringify(each)).join('\n---\n')),
    get: async <T>(...args: string[]) => JSON.parse(await run(['get', ...args, '-o', 'json'])) as T,
    script: (pod, container, script) =>
      run(['exec', pod, '-c', container, '--', '/nodejs/bin/node', '-e', script]),
  };
}

/**
 * Asks until the answer passes, every 250 ms; then returns how long that took, in milliseconds.
 * Throws with the last answer or error after `withinMs`.
 */
export async function eventually<T>(
  what: string,
  withinMs: number,
  ask: () => Promise<T>,
  passes: (answer: T) => boolean,
): Promise<{ answer: T; tookMs: number }> {
  const started = performance.now();
  for (;;) {
    let last: string;
    try {
      const answer = await ask();
      const tookMs = performance.now() - started;
      if (passes(answer)) return { answer, tookMs };
      last = typeof answer === 'string' ? answer : JSON.stringify(answer);
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    if (performance.now() - started > withinMs)
      throw new Error(`${what}: not within ${withinMs} ms; last: ${last.slice(0, 2_000)}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
