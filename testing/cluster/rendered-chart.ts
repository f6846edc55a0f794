import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { run, type RunResult } from '../../e2e/cluster/run.ts';
import { clusterBinary } from '../machine/cluster-binary.ts';

export const CHART = join(import.meta.dirname, '../../helm/agent-compliance');
/** Name of the rendered release. */
export const RELEASE_NAMESPACE = 'platform-system';

/** The chart's only required value: the image registry. */
export const REGISTRY = 'registry.example';
export const REQUIRED: readonly string[] = ['--set', `image.registry=${REGISTRY}`];

/** An object of a chart; the caller declares the type of its members. */
export interface ChartObject {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels: Record<string, string>;
    annotations?: Record<string, string>;
  };
}

/** Cached results by arguments: the same values render the same objects, except generated keys. */
const cache = new Map<string, Promise<RunResult>>();

/** `helm template` of the chart with additional arguments; cached. */
export function template(...args: string[]): Promise<RunResult> {
  const key = JSON.stringify(args);
  const result = cache.get(key) ?? run(command([...REQUIRED, ...args]));
  cache.set(key, result);
  return result;
}

/** Like `template`, with a file of these values. */
export function templateOf(values: object, ...args: string[]): Promise<RunResult> {
  return run(command(['-f', '-', ...args]), {
    input: JSON.stringify(values),
  });
}

const command = (args: readonly string[]): string[] => [
  ...[clusterBinary('helm'), 'template', 'agent-compliance', CHART, '-n', RELEASE_NAMESPACE],
  ...['--kube-version', '1.36.0', ...args],
];

/** The rendered objects for these values in the format of `--set`. Throws Helm's error message. */
export async function render<T extends ChartObject = ChartObject>(...set: string[]): Promise<T[]> {
  return objectsOf(await template(...set.flatMap((value) => ['--set', value])));
}

/** The objects in a rendering result. Throws Helm's error message. */
export function objectsOf<T extends ChartObject = ChartObject>({ code, stdout, stderr }: RunResult): T[] {
  if (code !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as T | null)
    .filter((object) => object !== null);
}
