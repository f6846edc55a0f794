import { describe, expect, test } from '@jest/globals';
import { checkReport, type CheckReport } from '../../authoring/diagnosis/check-report.ts';
import { known, notKnown, type InstalledFacts } from '../../authoring/diagnosis/facts.ts';
import {
  leftoverReport,
  type LabelledObject,
  type LeftoverFacts,
} from '../../authoring/diagnosis/leftovers.ts';
import { installedFacts, observation, pod } from '../../testing/cluster/diagnosis-facts.ts';
import { runCommandLine } from '../program.ts';
import { renderCheck } from './check.ts';
import { renderUninstall } from './uninstall.ts';

const reportOf = (change: Partial<InstalledFacts> = {}): CheckReport =>
  checkReport('https://cluster', { stage: 'installed', facts: installedFacts(change) });
const TEXT = { failOn: 'error', color: false } as const;

test.each([
  ['absent', '/absent cannot be read: it does not exist'],
  ['.', ' cannot be read: it is a directory'],
])('--kubeconfig %s is an error that names the file', async (file, reason) => {
  const context = { env: {}, cwd: import.meta.dirname, now: () => new Date(), color: false, ask: null };
  const { exitCode, output, errors } = await runCommandLine(['check', '--kubeconfig', file], context);
  expect({ exitCode, output }).toEqual({ exitCode: 1, output: '' });
  expect(errors).toMatch(/^error: kubeconfig file \//);
  expect(errors.trimEnd().endsWith(reason)).toBe(true);
});

describe('platform check prints', () => {
  test('one line if all checks pass', () => {
    const report = reportOf();
    expect(renderCheck(report, TEXT)).toMatchObject({
      output: `cluster https://cluster, Kubernetes v1.36.4\nrelease agent-compliance in platform-system, version 1.0\n\n${report.passed.length} checks passed\n`,
      errors: '',
      exitCode: 0,
    });
  });

  test('each problem with hint and documentation link, and a summary', () => {
    const report = reportOf({
      definition: known(null),
      lease: notKnown('missing permission: get leases in platform-system'),
      observations: known([observation('Routed', 'False', '', 'Service front port 80')]),
    });
    const { output, exitCode } = renderCheck(report, TEXT);
    expect(exitCode).toBe(1);
    expect(output).toContain(
      `error definition-missing: CustomResourceDefinition agentobservations.platform.io does not exist
  helm upgrade with crds.install=true, or kubectl apply -f crds/agentobservations.yaml
  docs/reference/checks.md#definition-missing
`,
    );
    expect(output).toContain('unknown leader-missing: missing permission: get leases in platform-system\n');
    expect(output).toContain('warning agent-bypassed: agent chat in team: Service front port 80\n');
    expect(output).toMatch(/\n1 error, 1 warning, 1 unknown, \d+ checks passed\n$/);
  });

  test.each([
    ['error', 0],
    ['warning', 1],
  ] as const)('exits for a warning with --fail-on %s with %i', (failOn, exitCode) => {
    const report = reportOf({ observations: known([observation('Routed', 'False', '', 'x')]) });
    expect(renderCheck(report, { ...TEXT, failOn }).exitCode).toBe(exitCode);
  });

  test('JSON without colour codes', () => {
    const report = reportOf({ definition: known(null) });
    const { output } = renderCheck(report, { ...TEXT, json: true, color: true });
    expect(JSON.parse(output)).toEqual(report);
  });

  test('colour on a terminal, without control characters from the cluster', () => {
    const report = reportOf({ canary: known({ status: 'False', message: 'bad \u001b[2J' }) });
    const { output } = renderCheck(report, { ...TEXT, color: true });
    expect(output).toContain('\u001b[31merror\u001b[39m');
    expect(output).not.toContain('\u001b[2J');
  });
});

const object = (change: Partial<LabelledObject> = {}): LabelledObject => ({
  ...{ kind: 'Role', resource: 'roles.rbac.authorization.k8s.io', namespace: 'platform-system', name: 'r' },
  ...{ release: 'agent-compliance', isKept: false, ...change },
});
const left = (change: Partial<LeftoverFacts> = {}) =>
  leftoverReport('https://cluster', {
    namespace: 'platform-system',
    hasNamespace: known(false),
    releases: known([]),
    objects: [],
    observations: known([]),
    pods: known([]),
    ...change,
  });
const VERIFY = { verify: true, namespace: 'platform-system' } as const;
const verify = (change: Partial<LeftoverFacts> = {}) =>
  renderUninstall(left(change), VERIFY, { color: false });

describe('platform uninstall --verify', () => {
  test.each<[what: string, change: Partial<LeftoverFacts>, exitCode: 0 | 1, lines: string[]]>([
    ['no leftovers', {}, 0, ['nothing is left\n']],
    [
      'an object of the release',
      { objects: [known([object()])] },
      1,
      [
        '1 item left',
        'Role r in platform-system is left',
        'kubectl delete roles.rbac.authorization.k8s.io r -n platform-system',
      ],
    ],
    [
      'a definition that is kept',
      {
        objects: [
          known([
            object({
              ...{
                kind: 'CustomResourceDefinition',
                resource: 'customresourcedefinitions.apiextensions.k8s.io',
              },
              ...{ namespace: null, name: 'agentobservations.platform.io', isKept: true },
            }),
          ]),
        ],
      },
      0,
      ['is kept; removing it removes every AgentObservation', 'nothing is left'],
    ],
    [
      'a database that is kept',
      {
        objects: [
          known([
            object({
              ...{ kind: 'PersistentVolumeClaim', resource: 'persistentvolumeclaims' },
              ...{ name: 'agent-compliance-control-plane-data', isKept: true },
            }),
          ]),
        ],
      },
      0,
      [
        'is kept; removing it removes the database of the control plane',
        'kubectl delete persistentvolumeclaims agent-compliance-control-plane-data -n platform-system',
        'nothing is left',
      ],
    ],
    [
      'observations',
      {
        observations: known([
          { namespace: 'a', name: 'x' },
          { namespace: 'a', name: 'y' },
        ]),
      },
      0,
      ['2 AgentObservations are kept in a', 'kubectl delete agentobservations --all -n a'],
    ],
    [
      'a pod with the sidecar',
      { pods: known([pod()]) },
      1,
      ['pod chat-1 in team still has the sidecar', 'kubectl rollout restart deployment chat -n team'],
    ],
    [
      'a pod with a sidecar that was not injected',
      { pods: known([pod({ optedIn: false, injected: null })]) },
      0,
      ['nothing is left'],
    ],
    [
      'a pod that opts in and has no sidecar',
      { pods: known([pod({ hasSidecar: false })]) },
      0,
      ['nothing is left'],
    ],
    [
      'a release that is still installed',
      {
        releases: known([{ name: 'agent-compliance', status: 'deployed' }]),
        objects: [known([object()])],
        pods: known([pod()]),
      },
      1,
      [
        '1 item left',
        'release agent-compliance is still installed',
        'helm uninstall agent-compliance -n platform-system --wait',
      ],
    ],
    [
      'a release history kept by Helm',
      { releases: known([{ name: 'agent-compliance', status: 'uninstalled' }]) },
      1,
      ['kubectl delete secret -n platform-system -l owner=helm,name=agent-compliance'],
    ],
    [
      'a missing permission',
      { pods: notKnown('missing permission: list pods') },
      1,
      ['unknown: missing permission'],
    ],
  ])('%s', (_what, change, exitCode, lines) => {
    const rendered = verify(change);
    expect(rendered.exitCode).toBe(exitCode);
    for (const each of lines) expect(rendered.output).toContain(each);
    if (exitCode === 1) expect(rendered.output).not.toContain('nothing is left');
  });

  test('without --verify: nothing installed, or the uninstall commands', () => {
    const plan = (change: Partial<LeftoverFacts>) =>
      renderUninstall(left(change), { ...VERIFY, verify: false }, { color: false });
    expect(plan({})).toMatchObject({
      exitCode: 1,
      output: expect.stringContaining('no release of the product'),
    });
    const rendered = plan({
      releases: known([{ name: 'r', status: 'deployed' }]),
      hasNamespace: known(true),
    });
    expect(rendered.exitCode).toBe(0);
    expect(rendered.output).toContain('This command removes nothing');
    expect(rendered.output).toContain('helm uninstall r -n platform-system --wait');
    expect(rendered.output).toContain('Namespace platform-system is kept');
  });
});
