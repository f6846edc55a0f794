// kubectl wrapper for the suites: JSON objects, errors with kubectl's message, and waiting with timeouts.
import type { Cluster } from './cluster/cluster.ts';

/**
 * Longer than any successful operation on a busy machine. Not a performance limit, only the time after which a suite gives up.
 */
export const PATIENCE_MS = 180_000;
/** Timeout for tests and hooks with several such waits. */
export const TEST_MS = 5 * PATIENCE_MS;

export type KubeObject = Readonly<Record<string, unknown>>;

export interface Kubectl {
  /** Runs kubectl and returns its output; throws its error message. */
  run: (...args: string[]) => Promise<string>;
  apply: (objects: readonly KubeObject[]) => Promise<string>;
  /** The object, or the list of a kind (optionally selected by `-l`), as JSON; throws if it does not exist. */
  get: <T = KubeObject>(...args: string[]) => Promise<T>;
  /** Log of the only container of a pod. */
  logs: (pod: string) => Promise<string>;
  /** Waits until `deploy/NAME` or the like has rolled out. */
  rolledOut: (what: string) => Promise<string>;
  /** Waits for a condition of `kubectl wait --for`, such as `condition=Ready`. */
  waitFor: (condition: string, ...what: string[]) => Promise<string>;
  /** Runs a script with the Node.js of a container (`pod` may be `deploy/NAME`) and returns its output. */
  script: (pod: string, container: string, script: string) => Promise<string>;
}

/** Timeout of `kubectl` itself, so that it reports the timeout before it is killed. */
const TIMEOUT = `--timeout=${PATIENCE_MS / 1_000}s`;
const KUBECTL_MS = 30_000;

/** Kinds that are read directly from the API server, by their kubectl names. */
const COLLECTIONS: readonly (readonly [names: readonly string[], group: string, collection: string])[] = [
  [['pod', 'pods'], 'api/v1', 'pods'],
  [['secret'], 'api/v1', 'secrets'],
  [['service'], 'api/v1', 'services'],
  [['ao'], 'apis/platform.io/v1', 'agentobservations'],
  [['deployments'], 'apis/apps/v1', 'deployments'],
];

/** API path for `kubectl get ARGS`; null: use kubectl. */
function pathOf(namespace: string, [what = '', ...rest]: readonly string[]): string | null {
  const [kind, name] = [...what.split('/'), rest[0]];
  const [, group, collection] = COLLECTIONS.find(([names]) => names.includes(String(kind))) ?? [];
  if (group === undefined) return null;
  const path = `/${group}/namespaces/${namespace}/${collection}`;
  if (name === undefined) return path;
  if (name === '-l' && rest.length === 2)
    return `${path}?labelSelector=${encodeURIComponent(String(rest[1]))}`;
  return name.startsWith('-') || rest.length > 1 ? null : `${path}/${name}`;
}

export function kubectlOf(cluster: Cluster, namespace: string): Kubectl {
  const run = async (args: string[], input = ''): Promise<string> => {
    const options = { input, timeoutMs: PATIENCE_MS + KUBECTL_MS };
    const { stdout, stderr, code } = await cluster.exec(['kubectl', '-n', namespace, ...args], options);
    if (code !== 0) throw new Error(`kubectl ${args.slice(0, 4).join(' ')}: ${stderr || stdout}`);
    return stdout;
  };
  return {
    run: (...args) => run(args),
    apply: (objects) =>
      run(['apply', '-f', '-'], objects.map((each) => JSON.stringify(each)).join('\n---\n')),
    get: async <T>(...args: string[]) => {
      const path = pathOf(namespace, args);
      const text = path === null ? run(['get', ...args, '-o', 'json']) : cluster.readApi(path);
      return JSON.parse(await text) as T;
    },
    logs: (pod) => cluster.readApi(`/api/v1/namespaces/${namespace}/pods/${pod}/log`),
    rolledOut: (what) => run(['rollout', 'status', what, TIMEOUT]),
    waitFor: (condition, ...what) => run(['wait', `--for=${condition}`, ...what, TIMEOUT]),
    script: (pod, container, script) =>
      run(['exec', pod, '-c', container, '--', '/nodejs/bin/node', '-e', script]),
  };
}

/**
 * Pause between two attempts: a tenth of the elapsed time, within limits, because an attempt may start a process and long waits
 * need no high precision.
 */
const pauseMs = (sinceMs: number): number => Math.min(2_000, Math.max(400, sinceMs / 10));

/** They would take the place of the status in the message of a failed test. */
const withoutManagedFields = (name: string, value: unknown): unknown =>
  name === 'managedFields' ? undefined : value;

/**
 * Calls `ask` until its result passes; returns the result and the elapsed milliseconds.
 * Throws with the last result or error after `withinMs`.
 */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T>,
  passes: (result: T) => boolean = () => true,
  withinMs: number = PATIENCE_MS,
): Promise<{ result: T; tookMs: number }> {
  const started = performance.now();
  for (;;) {
    let last: string;
    try {
      const result = await ask();
      const tookMs = performance.now() - started;
      if (passes(result)) return { result, tookMs };
      last = typeof result === 'string' ? result : JSON.stringify(result, withoutManagedFields);
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    const sinceMs = performance.now() - started;
    if (sinceMs > withinMs)
      throw new Error(`${what}: not within ${withinMs} ms; last: ${last.slice(0, 6_000)}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs(sinceMs)));
  }
}
