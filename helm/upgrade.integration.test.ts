// `helm upgrade --reuse-values` renders the new chart only with the values and defaults of the old chart, so every value added
// since is missing. e2e/upgrade.test.ts runs the upgrade in a real cluster.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { run } from '../e2e/cluster/run.ts';
import { clusterBinary } from '../testing/machine/cluster-binary.ts';
import { REQUIRED } from '../testing/cluster/rendered-chart.ts';

const FROZEN = join(import.meta.dirname, '../e2e/fixtures/agent-compliance-0.1.0.tgz');
const CURRENT = join(import.meta.dirname, 'agent-compliance');

const helm = (...args: string[]) => run([clusterBinary('helm'), ...args]);
let directory: string;
/** Replaces the only default of 0.1.0 that is rejected. The webhook of 0.1.0 accepted smaller reviews. */
const ENOUGH_MEMORY = ['--set', 'webhook.resources.limits.memory=384Mi'];

/** Renders a chart with these values. */
const templateOf = (chart: string, ...args: string[]) =>
  helm(
    ...['template', 'platform', chart, '-n', 'platform-system', '--kube-version', '1.36.0'],
    ...[...REQUIRED, ...args],
  );

/** Kind and name of every object that a chart renders. */
async function objectsOf(chart: string, ...args: string[]): Promise<string[]> {
  const { stdout, stderr, code } = await templateOf(chart, ...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as { kind: string; metadata: { name: string } } | null)
    .flatMap((each) => (each === null ? [] : [`${each.kind}/${each.metadata.name}`]))
    .sort();
}

(whyNoControlPlane() ? describe.skip : describe)('the values of 0.1.0', () => {
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'reused-values-'));
    cpSync(CURRENT, directory, { recursive: true });
    const { stdout, code } = await helm('show', 'values', FROZEN);
    if (code !== 0) throw new Error('cannot read the frozen chart');
    writeFileSync(join(directory, 'values.yaml'), stdout);
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test.each([
    ['without other values', []],
    ['with an admin key', ['--set', 'adminKey.value=a-key-of-sixteen-characters']],
    ['with the admin key of a Secret', ['--set', 'adminKey.existingSecret=a-secret']],
    [
      'with an engine next to each sidecar',
      ['--set', 'policy.engine=opa,policy.opa.image=openpolicyagent/opa:1.22.0-static'],
    ],
    [
      'without the canary, the namespaces and the definition',
      ['--set', 'canary.enabled=false,remote.createNamespace=false,crds.install=false'],
    ],
    ['with one replica of each', ['--set', 'webhook.replicas=1,operator.replicas=1,controlPlane.replicas=1']],
  ])('and enough memory for the webhook are sufficient for this chart, %s', async (_how, args) => {
    const [before, now] = await Promise.all([
      objectsOf(FROZEN, ...args),
      objectsOf(directory, ...ENOUGH_MEMORY, ...args),
    ]);
    // Every object keeps its name, because Helm deletes objects that a release no longer contains.
    expect(now).toEqual(expect.arrayContaining(before));
  });

  test('alone are rejected with the value to set', async () => {
    const { code, stderr } = await templateOf(directory);
    expect({ code, problems: stderr.match(/^- .*/gm) }).toEqual({
      code: 1,
      problems: [
        expect.stringMatching(
          /^- webhook\.resources\.limits\.memory: 192Mi is below 320Mi, .*: use --reset-then-reuse-values, or --set webhook\.resources\.limits\.memory=384Mi$/,
        ),
      ],
    });
  });
});
