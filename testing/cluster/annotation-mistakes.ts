type Texts = Record<string, string>;

/** Annotations and labels of an object, of its pod template (inner) and of the job template of a CronJob. */
interface Places {
  inner?: Texts;
  outer?: Texts;
  job?: Texts;
  innerLabels?: Texts;
  outerLabels?: Texts;
}

type Found = [what: string, key: string, meant: string | null, place: string];

const INJECT = { 'platform.io/inject': 'true' };
const TEMPLATE = 'spec.template.metadata.annotations';
const IN_CRON_JOB = 'spec.jobTemplate.spec.template.metadata.annotations';
const found = (key: string, meant: string | null, place = TEMPLATE, what = 'annotation'): Found => [
  what,
  key,
  meant,
  place,
];

/** Mistakes in annotations of workloads, with what `platform check` finds and of what the chart's policy warns. */
export const ANNOTATION_MISTAKES: [what: string, where: Places & { kind?: string }, found: Found[]][] = [
  ['no annotation', {}, []],
  ['an annotation in the pod template', { inner: INJECT }, []],
  [
    'annotations of other projects',
    { inner: { 'example.com/inject': '' }, outer: { 'x.platform.io/y': '' } },
    [],
  ],
  [
    'annotations that the product writes',
    {
      inner: { ...INJECT, 'platform.io/injected': '{}', 'platform.io/ca': '' },
      outer: { 'platform.io/retry': 't' },
    },
    [],
  ],
  ['the label with the name of the agent', { innerLabels: { 'platform.io/agent-name': 'chat' } }, []],
  [
    'a typing mistake',
    { inner: { 'platform.io/injekt': 'true' } },
    [found('platform.io/injekt', 'platform.io/inject')],
  ],
  [
    'a wrong case',
    { inner: { 'platform.io/Inject': 'true' } },
    [found('platform.io/Inject', 'platform.io/inject')],
  ],
  [
    'a wrong case of the prefix',
    { inner: { 'Platform.IO/inject': 'true' } },
    [found('Platform.IO/inject', 'platform.io/inject')],
  ],
  [
    'another separator',
    {
      inner: {
        'platform.io/agentPort': '80',
        'platform.io/sidecar_log_level': 'info',
      },
    },
    [
      found('platform.io/agentPort', 'platform.io/agent-port'),
      found('platform.io/sidecar_log_level', 'platform.io/sidecar-log-level'),
    ],
  ],
  ['an unknown annotation', { inner: { 'platform.io/team': 'a' } }, [found('platform.io/team', null)]],
  ['the annotation on the workload', { outer: INJECT }, [found('platform.io/inject', 'platform.io/inject')]],
  ['the annotation on both', { inner: { 'platform.io/inject': 'false' }, outer: INJECT }, []],
  [
    'a typing mistake on the workload',
    { outer: { 'platform.io/injekt': 'true' } },
    [found('platform.io/injekt', 'platform.io/inject')],
  ],
  [
    'a label instead of an annotation in the pod template',
    { innerLabels: INJECT },
    [found('platform.io/inject', 'platform.io/inject', TEMPLATE, 'label')],
  ],
  [
    'a label instead of an annotation on the workload',
    { outerLabels: INJECT },
    [found('platform.io/inject', 'platform.io/inject', TEMPLATE, 'label')],
  ],
  ...['StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job'].map((kind): (typeof ANNOTATION_MISTAKES)[number] => [
    `the annotation on a ${kind}`,
    { kind, outer: INJECT },
    [found('platform.io/inject', 'platform.io/inject')],
  ]),
  [
    'the annotation on a CronJob',
    { kind: 'CronJob', outer: INJECT },
    [found('platform.io/inject', 'platform.io/inject', IN_CRON_JOB)],
  ],
  [
    'the annotation on the Jobs of a CronJob',
    { kind: 'CronJob', job: INJECT },
    [found('platform.io/inject', 'platform.io/inject', IN_CRON_JOB)],
  ],
  ['an annotation in the pod template of a CronJob', { kind: 'CronJob', inner: INJECT }, []],
  ['an annotation of a Pod', { kind: 'Pod', inner: { 'platform.io/agent-name': 'chat' } }, []],
  [
    'a typing mistake in a Pod',
    { kind: 'Pod', inner: { 'platform.io/injcet': 'true' } },
    [found('platform.io/injcet', 'platform.io/inject', 'metadata.annotations')],
  ],
  [
    'a label of a Pod instead of an annotation',
    { kind: 'Pod', innerLabels: INJECT },
    [found('platform.io/inject', 'platform.io/inject', 'metadata.annotations', 'label')],
  ],
];

/** A valid workload or pod `chat` with these annotations and labels. */
export function workloadOfKind(
  kind: string,
  { inner, outer, job, innerLabels, outerLabels }: Places,
  name = 'chat',
): object {
  const labels = { app: name };
  const once = kind === 'Job' || kind === 'CronJob';
  const pod = {
    metadata: { labels: { ...labels, ...innerLabels }, annotations: inner },
    spec: {
      containers: [{ name: 'agent', image: 'agent' }],
      restartPolicy: once ? 'Never' : 'Always',
    },
  };
  const metadata = {
    name,
    namespace: 'team',
    annotations: outer,
    labels: outerLabels,
  };
  switch (kind) {
    case 'Pod':
      return {
        apiVersion: 'v1',
        kind,
        ...pod,
        metadata: { ...metadata, ...pod.metadata },
      };
    case 'Job':
      return {
        apiVersion: 'batch/v1',
        kind,
        metadata,
        spec: { template: pod },
      };
    case 'CronJob': {
      const jobTemplate = {
        metadata: { annotations: job },
        spec: { template: pod },
      };
      return {
        apiVersion: 'batch/v1',
        kind,
        metadata,
        spec: { schedule: '0 0 1 1 *', jobTemplate },
      };
    }
    default: {
      const spec = { selector: { matchLabels: labels }, template: pod };
      return {
        ...{ apiVersion: 'apps/v1', kind, metadata },
        spec: kind === 'StatefulSet' ? { ...spec, serviceName: name } : spec,
      };
    }
  }
}
