import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { run, type RunResult } from '../e2e/cluster/run.ts';
import { clusterBinary } from './cluster-binary.ts';

export const CHART = join(import.meta.dirname, '../helm/agent-compliance');
/** Of the release that is rendered here. */
export const RELEASE_NAMESPACE = 'platform-system';

/** The chart's only required value: where the images are. */
export const REGISTRY = 'registry.example';
export const REQUIRED: readonly string[] = ['--set', `image.registry=${REGISTRY}`];

/** An object of a chart; its members are what the one who looks at them says. */
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

/** What was asked for already, by its arguments: a chart makes the same of the same values, keys that it makes up aside. */
const asked = new Map<string, Promise<RunResult>>();

/** `helm template` of the chart, with more arguments; asked again it gives the same answer. */
export function template(...args: string[]): Promise<RunResult> {
  const key = JSON.stringify(args);
  const result = asked.get(key) ?? run(command([...REQUIRED, ...args]));
  asked.set(key, result);
  return result;
}

/** As `template`, with a file of these values. */
export function templateOf(values: object, ...args: string[]): Promise<RunResult> {
  return run(command(['-f', '-', ...args]), {
    input: JSON.stringify(values),
  });
}

const command = (args: readonly string[]): string[] => [
  ...[clusterBinary('helm'), 'template', 'agent-compliance', CHART, '-n', RELEASE_NAMESPACE],
  ...['--kube-version', '1.36.0', ...args],
];

/** The objects that the chart makes of these values, each as `--set` takes it. Throws what Helm says. */
export async function render<T extends ChartObject = ChartObject>(...set: string[]): Promise<T[]> {
  return objectsOf(await template(...set.flatMap((value) => ['--set', value])));
}

/** The objects that were rendered. Throws what Helm says. */
export function objectsOf<T extends ChartObject = ChartObject>({ code, stdout, stderr }: RunResult): T[] {
  if (code !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as T | null)
    .filter((object) => object !== null);
}
