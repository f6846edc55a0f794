// After the cluster suite: compares what the product requested from the API server (E2E_PERMISSIONS, a folder in which each
// cluster left its requests) with what the chart grants. Every request must be granted, and every permission that no test
// uses is listed below with a reason.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RELEASE } from '../e2e/product.ts';
import { render } from '../testing/rendered-chart.ts';
import { comparePermissions, grantedBy, type AccessObject, type Right } from '../testing/used-permissions.ts';
import { CANNOT_RUN } from './test-suites.ts';

interface Unused {
  /** As it is printed. */
  right: string;
  /** `now and then`: chance decides whether the suites come to it. */
  asked: 'never' | 'now and then';
  why: string;
}

/** Granted and asked for by no suite in the cluster, and why it is granted all the same. */
const UNUSED: readonly Unused[] = [
  {
    right: 'operator create platform.io/agentobservations',
    asked: 'never',
    why: 'a server-side apply that makes an object needs it, and is logged as the patch that it is',
  },
  {
    right: 'operator delete platform.io/agentobservations',
    asked: 'now and then',
    why: 'the old observation of an agent that was renamed or opted out, when the turmoil lets its last pod go',
  },
  ...['apps/replicasets', 'apps/statefulsets', 'apps/daemonsets', 'batch/jobs'].map(
    (resource) =>
      ({
        right: `operator patch ${resource}`,
        asked: 'now and then',
        why: 'retries a controller whose pods were rejected, in operator/injector-watch.apiserver.test.ts and make soak',
      }) as const,
  ),
  {
    right: 'operator patch events.k8s.io/events',
    asked: 'now and then',
    why: 'counts an Event that comes again within ten minutes instead of making another one',
  },
  {
    right: 'control-plane delete platform.io/agentobservations in platform-remote',
    asked: 'never',
    why: 'DELETE of an agent outside the cluster, in control-plane/control-plane.apiserver.test.ts',
  },
  {
    right: 'webhook get admissionregistration.k8s.io/validatingadmissionpolicies agent-compliance-canary',
    asked: 'never',
    why: 'before an old authority goes, months after the installation, in webhook/certificates/',
  },
];

const CHART_NAME = 'agent-compliance';

/** The suites install under two names; the chart is rendered under the one that is the chart's own. */
const ofEveryRelease = (right: Right): Right => {
  const inChart = (name: string) => name.replace(`${RELEASE}-${CHART_NAME}`, CHART_NAME);
  return { ...right, account: inChart(right.account), name: inChart(right.name) };
};
const short = (right: string): string => right.replace(/^[^:]*:agent-compliance-/, '');

/** What is wrong, one line each. */
function findingsOf(beyond: readonly string[], unused: readonly string[]): string[] {
  const known = new Set(UNUSED.map(({ right }) => right));
  const stale = UNUSED.filter(({ right, asked }) => asked === 'never' && !unused.includes(right));
  return [
    ...beyond.map((right) => `requested and not granted: ${right}`),
    ...unused
      .filter((right) => !known.has(right))
      .map((right) => `granted, requested by no test, and no reason is given: ${right}`),
    ...stale.map(({ right }) => `requested or no longer granted, but listed as unused: ${right}`),
  ];
}

const folder = process.env['E2E_PERMISSIONS'] ?? '';
const records = folder === '' ? [] : readdirSync(folder);
const asked = records.flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Right[]);

if (asked.length === 0) {
  console.log('no audit log: only an own cluster has one');
  process.exitCode = CANNOT_RUN;
} else {
  const granted = grantedBy(await render<AccessObject>());
  const { beyond, unused } = comparePermissions(granted, asked.map(ofEveryRelease));
  const findings = findingsOf(beyond.map(short), unused.map(short));
  console.log(`${granted.length} permissions are granted, ${granted.length - unused.length} were used`);
  for (const right of unused.map(short))
    console.log(`unused: ${right}: ${UNUSED.find((each) => each.right === right)?.why ?? '?'}`);
  for (const finding of findings) console.error(finding);
  process.exitCode = findings.length > 0 ? 1 : 0;
}
