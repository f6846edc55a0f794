// The agent in Python for Kubernetes. There is no image of Python in the tests, so that no pod runs; the demo runs the agent.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { runCommandLine } from '../../cli/program.ts';
import type { Rendered } from '../../cli/rendered.ts';
import type { Pod } from '../../core/injection/pod.ts';

const ROOT = join(import.meta.dirname, '../..');
const AGENT = 'examples/agents-python/demo';

const platform = (...args: string[]): Promise<Rendered> =>
  runCommandLine(args, { env: {}, cwd: ROOT, now: () => new Date(0), color: false, ask: null });

interface Workload {
  metadata: { name: string };
  spec: { template: Pod };
}

test('its manifest is valid and has the name of the Deployment', async () => {
  expect((await platform('validate', `${AGENT}/agent.json`)).exitCode).toBe(0);
  const manifest = parse(readFileSync(join(ROOT, AGENT, 'agent.json'), 'utf8')) as Workload;
  const documents = parseAllDocuments(
    readFileSync(join(import.meta.dirname, 'python/deployment.yaml'), 'utf8'),
  );
  const [deployment] = documents.map((document) => document.toJS() as Workload);
  expect(deployment?.metadata.name).toBe(manifest.metadata.name);
});

test('is injected, and its Service routes through the sidecar', async () => {
  const { output, errors, exitCode } = await platform('inject', 'examples/kubernetes/python/deployment.yaml');
  expect([exitCode, errors]).toEqual([
    0,
    expect.stringContaining('Deployment/python: injected: agent python'),
  ]);
  const [deployment, service] = parseAllDocuments(output).map((document) => document.toJS() as Workload);
  const pod = deployment?.spec.template.spec;
  const sidecar = pod?.initContainers?.find(({ name }) => name === 'platform-sidecar');
  expect(sidecar?.ports?.map(({ name, containerPort }) => ({ name, containerPort }))).toContainEqual({
    name: 'http',
    containerPort: 4000,
  });
  expect(pod?.containers[0]?.ports?.map(({ name }) => name)).not.toContain('http');
  expect(service?.spec).toMatchObject({ ports: [{ targetPort: 'http' }] });
});

test('its image contains the package and all files of the agent', () => {
  const dockerfile = readFileSync(join(ROOT, AGENT, 'Dockerfile'), 'utf8');
  const copied = [...dockerfile.matchAll(/^COPY (.*) \S+$/gm)].flatMap(([, from = '']) => from.split(' '));
  expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  expect(copied).toEqual(
    expect.arrayContaining(
      globSync('*.{py,json}', { cwd: join(ROOT, AGENT) }).map((file) => `${AGENT}/${file}`),
    ),
  );
});
