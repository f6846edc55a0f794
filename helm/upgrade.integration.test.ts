// `helm upgrade --reuse-values` renders the new chart with the values of the old one, defaults included, and with nothing
// else: every value that came later is missing. e2e/upgrade.test.ts does it in a real cluster.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { run } from '../e2e/cluster/run.ts';
import { clusterBinary } from '../testing/cluster-binary.ts';
import { REQUIRED } from '../testing/rendered-chart.ts';

const FROZEN = join(import.meta.dirname, '../e2e/fixtures/agent-compliance-0.1.0.tgz');
const PRESENT = join(import.meta.dirname, 'agent-compliance');

const helm = (...args: string[]) => run([clusterBinary('helm'), ...args]);
let folder: string;
/** The one default of 0.1.0 that is refused: its webhook accepted smaller reviews. */
const ENOUGH_MEMORY = ['--set', 'webhook.resources.limits.memory=384Mi'];

/** What a chart makes of these values. */
const templateOf = (chart: string, ...args: string[]) =>
  helm(
    ...['template', 'platform', chart, '-n', 'platform-system', '--kube-version', '1.36.0'],
    ...[...REQUIRED, ...args],
  );

/** Kind and name of every object that a chart makes. */
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
    folder = mkdtempSync(join(tmpdir(), 'reused-values-'));
    cpSync(PRESENT, folder, { recursive: true });
    const { stdout, code } = await helm('show', 'values', FROZEN);
    if (code !== 0) throw new Error('the frozen chart cannot be read');
    writeFileSync(join(folder, 'values.yaml'), stdout);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each([
    ['as they were', []],
    ['with an admin key', ['--set', 'adminKey.value=a-key-of-sixteen-characters']],
    ['with the admin key of a Secret', ['--set', 'adminKey.existingSecret=a-secret']],
    [
      'with an engine beside each sidecar',
      ['--set', 'policy.engine=opa,policy.opa.image=openpolicyagent/opa:1.22.0-static'],
    ],
    [
      'without the canary, the namespaces and the definition',
      ['--set', 'canary.enabled=false,remote.createNamespace=false,crds.install=false'],
    ],
    ['with one replica of each', ['--set', 'webhook.replicas=1,operator.replicas=1,controlPlane.replicas=1']],
  ])('and enough memory for the webhook are enough for this chart, %s', async (_how, args) => {
    const [before, now] = await Promise.all([
      objectsOf(FROZEN, ...args),
      objectsOf(folder, ...ENOUGH_MEMORY, ...args),
    ]);
    // Whatever is there under its name stays there: what Helm finds no more in a release it deletes.
    expect(now).toEqual(expect.arrayContaining(before));
  });

  test('alone are refused, with what to set', async () => {
    const { code, stderr } = await templateOf(folder);
    expect({ code, problems: stderr.match(/^- .*/gm) }).toEqual({
      code: 1,
      problems: [
        expect.stringMatching(
          /^- webhook\.resources\.limits\.memory: 192Mi is under 320Mi, .*: --reset-then-reuse-values, or --set webhook\.resources\.limits\.memory=384Mi$/,
        ),
      ],
    });
  });
});
