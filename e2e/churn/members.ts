// The workloads of the churn test: example agents and small servers.
import { IN_SOAK } from '../../testing/time/real-time.ts';
import { manifestConfigMap, manifestOf } from '../agent-workload.ts';
import type { KubeObject } from '../kubectl.ts';

export type Kind = 'Deployment' | 'StatefulSet' | 'DaemonSet';

export interface Member {
  name: string;
  kind: Kind;
  /** The example agent; null: a small server that returns 200 for every request. */
  profile: 'compliant' | 'gappy' | 'misbehaving' | null;
}

const small = (kind: Kind, ...names: string[]): Member[] =>
  names.map((name) => ({ name, kind, profile: null }));

const EVERY_KIND: readonly Member[] = [
  { name: 'shop', kind: 'Deployment', profile: 'compliant' },
  ...small('Deployment', 'billing'),
  ...small('StatefulSet', 'ledger'),
  ...small('DaemonSet', 'scout'),
];

/** One of each kind; more in `make soak`. */
export const MEMBERS: readonly Member[] = IN_SOAK
  ? [
      ...EVERY_KIND,
      { name: 'gappy', kind: 'Deployment', profile: 'gappy' },
      { name: 'misbehaving', kind: 'Deployment', profile: 'misbehaving' },
      ...small('Deployment', 'booking', 'claims', 'search', 'support', 'triage'),
      ...small('StatefulSet', 'memory', 'queue'),
    ]
  : EVERY_KIND;

/** Names that a rename may assign. They are shared, so that several workloads claim the same name. */
export const SHARED_NAMES: readonly string[] = ['shared-one', 'shared-two'];

const SMALL_AGENT = `
require('node:http').createServer((request, response) => response.end('{}')).listen(8000);
process.on('SIGTERM', () => process.exit(0));`;

/** Whether the workload has a replica count. */
export const isScalable = ({ kind }: Member): boolean => kind !== 'DaemonSet';

export function workloadOf(member: Member, image: string, replicas: number): KubeObject {
  const { name, kind, profile } = member;
  const selector = { matchLabels: { app: name } };
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name },
    spec: {
      ...(isScalable(member) ? { replicas } : {}),
      ...(kind === 'StatefulSet' ? { serviceName: name, podManagementPolicy: 'Parallel' } : {}),
      selector,
      template: {
        metadata: {
          labels: { app: name },
          annotations: {
            'platform.io/inject': 'true',
            // Independent of the current name of the agent.
            'platform.io/manifest-configmap': `${name}-manifest`,
          },
        },
        spec: {
          terminationGracePeriodSeconds: 2,
          containers: [
            {
              name: 'agent',
              image,
              imagePullPolicy: 'IfNotPresent',
              args: profile === null ? ['-e', SMALL_AGENT] : ['dist/example-agents/main.js'],
              env: [
                { name: 'AGENT_PROFILE', value: profile ?? 'compliant' },
                { name: 'AGENT_NAME', value: name },
                { name: 'OPENAI_API_KEY', value: 'not-a-real-key' },
              ],
              ports: [{ name: 'http', containerPort: 8000 }],
              resources: { limits: { memory: '256Mi' } },
            },
          ],
        },
      },
    },
  };
}

/** Target ports of the Service: by port name, the agent's port number, the sidecar's port number. */
export const TARGETS: readonly (string | number)[] = ['http', 8000, 4000];

export function serviceOf({ name }: Member, targetPort: string | number = 'http'): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { app: name }, ports: [{ name: 'http', port: 80, targetPort }] },
  };
}

export function manifestOfMember({ name, profile }: Member): KubeObject {
  return manifestConfigMap(name, manifestOf(name, profile ?? 'compliant'));
}
