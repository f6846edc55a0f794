// Runs after the cluster suite. Compares the product's API server requests (E2E_PERMISSIONS: a directory with one file per
// cluster) with the permissions that the chart grants. Every request must be granted. Every permission that no test uses must
// be listed below with a reason.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RELEASE } from '../e2e/product.ts';
import { render } from '../testing/cluster/rendered-chart.ts';
import {
  comparePermissions,
  grantedBy,
  type AccessObject,
  type Permission,
} from '../testing/cluster/used-permissions.ts';
import { CANNOT_RUN } from './test-suites.ts';

interface Unused {
  /** As printed. */
  permission: string;
  /** `sometimes`: depends on timing in the suites. */
  used: 'never' | 'sometimes';
  why: string;
}

/** Permissions that no cluster suite uses, and why the chart grants them. */
const UNUSED: readonly Unused[] = [
  {
    permission: 'operator create platform.io/agentobservations',
    used: 'never',
    why: 'a server-side apply that creates an object needs it, but the audit log records a patch',
  },
  {
    permission: 'operator delete platform.io/agentobservations',
    used: 'sometimes',
    why: 'deletes the old observation of a renamed or opted-out agent, if the churn test deletes its last pod',
  },
  ...['apps/replicasets', 'apps/statefulsets', 'apps/daemonsets', 'batch/jobs'].map(
    (resource) =>
      ({
        permission: `operator patch ${resource}`,
        used: 'sometimes',
        why: 'retries a controller whose pods were rejected, in operator/injector-watch.apiserver.test.ts and make soak',
      }) as const,
  ),
  {
    permission: 'operator patch events.k8s.io/events',
    used: 'sometimes',
    why: 'increments the count of a stored Event that repeats, instead of creating another Event',
  },
  {
    permission: 'webhook get namespaces',
    used: 'sometimes',
    why: 'reads the labels of a namespace that the watch has not delivered yet, in webhook/manifests.apiserver.test.ts',
  },
  ...['get', 'list', 'watch'].map(
    (verb) =>
      ({
        permission: `operator ${verb} platform.io/agentpolicies`,
        used: 'sometimes',
        why: 'reads the AgentPolicies whose status it writes',
      }) as const,
  ),
  {
    permission: 'operator patch platform.io/agentpolicies/status',
    used: 'sometimes',
    why: 'writes the status of an AgentPolicy, if a suite has one',
  },
  ...['delete platform.io/agentstops', 'patch platform.io/agentstops/status'].map(
    (permission) =>
      ({
        permission: `operator ${permission}`,
        used: 'sometimes',
        why: 'writes the status of an AgentStop, and deletes an expired one, in operator/operator.apiserver.test.ts',
      }) as const,
  ),
  ...[
    'create authorization.k8s.io/subjectaccessreviews',
    ...['create', 'delete'].map((verb) => `${verb} platform.io/agentstops`),
  ].map(
    (permission) =>
      ({
        permission: `control-plane ${permission}`,
        used: 'sometimes',
        why: 'answers a person who signs on, or who stops an agent with the API, if a suite has one',
      }) as const,
  ),
  {
    permission:
      'webhook get admissionregistration.k8s.io/validatingadmissionpolicies agent-compliance-canary',
    used: 'never',
    why: 'used before an old CA is removed, months after the installation, in webhook/certificates/',
  },
];

const CHART_NAME = 'agent-compliance';

/** The suites install under two release names; the chart is rendered under its own name. */
const withChartName = (permission: Permission): Permission => {
  const chartNameOf = (name: string) => name.replace(`${RELEASE}-${CHART_NAME}`, CHART_NAME);
  return { ...permission, account: chartNameOf(permission.account), name: chartNameOf(permission.name) };
};
const short = (permission: string): string => permission.replace(/^[^:]*:agent-compliance-/, '');

/** Problems, one line each. */
function findingsOf(beyond: readonly string[], unused: readonly string[]): string[] {
  const known = new Set(UNUSED.map(({ permission }) => permission));
  const stale = UNUSED.filter(({ permission, used }) => used === 'never' && !unused.includes(permission));
  return [
    ...beyond.map((permission) => `requested but not granted: ${permission}`),
    ...unused
      .filter((permission) => !known.has(permission))
      .map((permission) => `granted but requested by no test, without a reason: ${permission}`),
    ...stale.map(({ permission }) => `listed as unused, but requested or no longer granted: ${permission}`),
  ];
}

const directory = process.env['E2E_PERMISSIONS'] ?? '';
const records = directory === '' ? [] : readdirSync(directory);
const used = records.flatMap(
  (file) => JSON.parse(readFileSync(join(directory, file), 'utf8')) as Permission[],
);

if (used.length === 0) {
  console.log('no audit log: only the test cluster of this project has one');
  process.exitCode = CANNOT_RUN;
} else {
  const granted = grantedBy(await render<AccessObject>());
  const { beyond, unused } = comparePermissions(granted, used.map(withChartName));
  const findings = findingsOf(beyond.map(short), unused.map(short));
  console.log(`${granted.length} permissions are granted, ${granted.length - unused.length} were used`);
  for (const permission of unused.map(short))
    console.log(
      `unused: ${permission}: ${UNUSED.find((each) => each.permission === permission)?.why ?? '?'}`,
    );
  for (const finding of findings) console.error(finding);
  process.exitCode = findings.length > 0 ? 1 : 0;
}
