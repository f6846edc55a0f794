// Validates the rendered chart with its options: Helm's linter, the schemas of two Kubernetes versions, and kube-score.
// scripts/lint-chart.ts runs another linter.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { run } from '../e2e/cluster/run.ts';
import { CHART_OPTIONS } from '../testing/cluster/chart-options.ts';
import { clusterBinary } from '../testing/machine/cluster-binary.ts';
import { KubernetesSchemas } from '../testing/cluster/kubernetes-schemas.ts';
import { CHART, objectsOf, render, templateOf, type ChartObject } from '../testing/cluster/rendered-chart.ts';

/** The oldest supported Kubernetes version, and the version of the tests. */
const VERSIONS = ['1.33', '1.36'];
const OPTIONS = Object.entries(CHART_OPTIONS);

(whyNoControlPlane() ? describe.skip : describe)('the manifests with', () => {
  test.each(OPTIONS)('%s pass helm lint --strict', async (_what, values) => {
    const lint = [clusterBinary('helm'), 'lint', '--strict', '--quiet', CHART, '-f', '-'];
    const result = await run([...lint, '-n', 'platform-system'], { input: JSON.stringify(values) });
    expect(result).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  describe.each(VERSIONS)('the schemas of Kubernetes %s', (minor) => {
    let schemas: KubernetesSchemas;
    beforeAll(() => {
      schemas = new KubernetesSchemas(minor);
    });

    test.each(OPTIONS)('accept every member of %s', async (_what, values) => {
      const objects = objectsOf(await templateOf(values, '--kube-version', `${minor}.0`));
      expect(objects.length).toBeGreaterThan(20);
      expect(
        objects
          .filter(({ apiVersion }) => !apiVersion.startsWith('monitoring.coreos.com/'))
          .flatMap((object) => schemas.problems(object).map((problem) => `${nameOf(object)}: ${problem}`)),
      ).toEqual([]);
    });

    test.each<[string, (deployment: Deployment) => void, string]>([
      ['an unknown member', ({ spec }) => (spec['replica'] = 2), 'replica'],
      ['a wrong type', ({ spec }) => (spec['replicas'] = 'two'), '/spec/replicas must be integer'],
      ['a missing member', ({ spec }) => delete spec['selector'], "required property 'selector'"],
    ])('reject %s', async (_what, breakIt, message) => {
      const [deployment] = (await render<Deployment>()).filter(({ kind }) => kind === 'Deployment');
      if (!deployment) throw new Error('no Deployment');
      expect(schemas.problems(deployment)).toEqual([]);
      breakIt(deployment);
      expect(schemas.problems(deployment).join('\n')).toContain(message);
    });
  });

  test.each(OPTIONS)('%s: kube-score reports only documented exceptions', async (what, values) => {
    const { stdout: manifests } = await templateOf(values);
    const { always, byDefault, onSqlite } = exceptions();
    const checks = {
      ...always,
      ...(what === 'every option on' ? {} : byDefault),
      ...(what === 'the control plane on SQLite' ? onSqlite : {}),
    };
    const ignored = Object.keys(checks).flatMap((check) => ['--ignore-test', check]);
    const score = [
      clusterBinary('kube-score'),
      'score',
      '-o',
      'ci',
      '--kubernetes-version',
      'v1.33',
      ...ignored,
    ];
    const { stdout, stderr } = await run([...score, '-'], { input: manifests });
    expect(stderr).toBe('');
    expect(stdout).toContain('[OK]');
    expect(stdout.split('\n').filter((line) => /^\[(CRITICAL|WARNING)\]/.test(line))).toEqual([]);
  });
});

const exceptions = () =>
  parse(readFileSync(join(import.meta.dirname, 'kube-score.yaml'), 'utf8')) as Record<
    'always' | 'byDefault' | 'onSqlite',
    Record<string, string>
  >;

interface Deployment extends ChartObject {
  spec: Record<string, unknown>;
}

const nameOf = ({ kind, metadata }: ChartObject): string => `${kind} ${metadata.name}`;
