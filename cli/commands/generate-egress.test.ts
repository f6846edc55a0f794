import { beforeEach, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import type { Rendered } from '../rendered.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';

const { read, run, write } = commandFolder();

beforeEach(() => write('agent.yaml', manifestText('  egress: { hosts: [api.example.com] }\n')));

const generate = (...args: string[]): Promise<Rendered> => run(['generate-egress', 'agent.yaml', ...args]);

test.each([
  ['kubernetes', 'networking.k8s.io/v1', 'NetworkPolicy'],
  ['cilium', 'cilium.io/v2', 'CiliumNetworkPolicy'],
])('--kind %s prints one object that kubectl can apply', async (kind, apiVersion, objectKind) => {
  const { output, errors, exitCode } = await generate('--kind', kind, '-n', 'shop');
  expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
  expect(parse(output)).toMatchObject({ apiVersion, kind: objectKind, metadata: { namespace: 'shop' } });
});

test('--json prints the policy with its notes', async () => {
  const { output } = await generate('--json');
  expect(JSON.parse(output)).toMatchObject({ policy: { kind: 'NetworkPolicy' }, notes: expect.any(Array) });
});

test('--out writes a file, but never the manifest', async () => {
  expect((await generate('--out', 'egress.yaml')).output).toBe('wrote egress.yaml\n');
  expect(parse(read('egress.yaml'))).toMatchObject({ kind: 'NetworkPolicy' });
  const { errors, exitCode } = await generate('--out', 'agent.yaml');
  expect(exitCode).toBe(1);
  expect(errors).toContain('cannot write agent.yaml');
});

describe('--out next to the files of a deployment', () => {
  const deployment = (metadata: object, name = 'minimal') =>
    JSON.stringify({
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name } },
      spec: { template: { metadata, spec: { containers: [{ name: 'a', image: 'a:1' }] } } },
    });
  const OPTED_IN = { 'platform.io/inject': 'true' };

  test.each<[string, string, boolean]>([
    ['without the label', deployment({ labels: { app: 'minimal' } }), true],
    ['with the label of another agent', deployment({ labels: { 'platform.io/agent-name': 'other' } }), true],
    ['with the label', deployment({ labels: { 'platform.io/agent-name': 'minimal' } }), false],
    ['for the injector', deployment({ annotations: OPTED_IN }), false],
    ['for the injector, with another name', deployment({ annotations: OPTED_IN }, 'other'), true],
    [
      'for the injector, with the name of the agent',
      deployment({ annotations: { ...OPTED_IN, 'platform.io/agent-name': 'minimal' } }, 'other'),
      false,
    ],
    ['that do not exist', 'kind: ConfigMap\napiVersion: v1\n', false],
    ['that are a template', `{{ if .Values.x }}\n${deployment({})}\n{{ end }}\n`, false],
  ])('warns of pods %s: %#', async (_what, text, isWarned) => {
    write('k8s/pods.yaml', text);
    const { errors, exitCode } = await generate('--out', 'k8s/egress.yaml');
    expect(exitCode).toBe(0);
    expect(errors.includes('warning: no pod in the files next to k8s/egress.yaml')).toBe(isWarned);
  });

  test.each(['k8s', 'helm'])('generate --deploy %s has the label', async (target) => {
    await run(`generate agent.yaml --deploy ${target}`);
    const { output } = await generate('--json');
    const { policy } = JSON.parse(output) as {
      policy: { spec: { podSelector: { matchLabels: Record<string, string> } } };
    };
    const file = target === 'k8s' ? 'k8s/deployment.yaml' : 'helm/templates/_helpers.tpl';
    const text = read(`generated/${file}`);
    // cli/generate.integration.test.ts renders the chart.
    const template = text.slice(text.search(/template:|define "minimal.podLabels"/));
    for (const [key, value] of Object.entries(policy.spec.podSelector.matchLabels))
      expect(template).toContain(`${key}: ${target === 'k8s' ? value : '{{ .Chart.Name | quote }}'}`);
  });
});

test('the policy selects what platform inject writes', async () => {
  const bare =
    'apiVersion: v1\nkind: Pod\nmetadata: { name: minimal }\nspec: { containers: [{ name: a, image: a:1 }] }\n';
  write('pod.yaml', bare);
  const { output } = await run('inject pod.yaml');
  const { labels } = (parse(output) as { metadata: { labels: Record<string, string> } }).metadata;
  const { spec } = parse((await generate()).output) as {
    spec: { podSelector: { matchLabels: Record<string, string> } };
  };
  expect(labels).toMatchObject(spec.podSelector.matchLabels);
});

test('a control plane namespace of none leaves it out', async () => {
  expect((await generate()).output).toContain('platform-system');
  expect((await generate('--control-plane-namespace', 'none')).output).not.toContain('platform-system');
});

test.each([
  ['a namespace', ['-n', 'Shop']],
  ['a kind', ['--kind', 'calico']],
])('%s that is not valid is an error', async (_, args) => {
  expect((await generate(...args)).exitCode).toBe(1);
});
