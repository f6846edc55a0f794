import { describe, expect, test } from '@jest/globals';
import { parseAllDocuments, stringify } from 'yaml';
import { anyPod } from '../../testing/cluster/any-pod.ts';
import { injectionSettings } from '../../testing/cluster/pods.ts';
import fc, { runs } from '../../testing/random/properties.ts';
import { injectManifests, uninjectManifests } from './inject-manifests.ts';
import type { ChangedText } from './inject-text.ts';

const injected = (text: string): ChangedText => injectManifests(text, injectionSettings());
const actions = ({ outcomes }: ChangedText): string[] => outcomes.map(({ action, code }) => code || action);

/** Texts that uninject restores except for spaces and line breaks. */
const LOOSE: [string, string][] = [
  [
    'comments, empty lines, quotes and odd spaces',
    `# The chat agent

apiVersion: apps/v1
kind: Deployment
metadata:
  name:   "chat"   # its name
spec:
  template:
    metadata:
      labels: { app: 'chat' }

    spec:
      # the agent
      containers:
      # first
      - name: agent
        image: agent:1    # pinned

        ports:
        - name: http
          containerPort: 8000
        - { name: metrics, containerPort: 9090 }
        readinessProbe: {httpGet: {path: /health, port: http}} # by name
      nodeSelector: {}
# the end
`,
  ],
  [
    'octal numbers, block scalars and a null',
    `apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db-agent, creationTimestamp: null }
spec:
  template:
    spec:
      containers:
        - name: agent
          args:
            - |
              exec agent \\
                --port 8000

            - >-
              folded
              text
          resources:
      volumes:
        - name: c
          configMap: { name: c, defaultMode: 0644 }
`,
  ],
];

/** Texts that uninject restores byte for byte. */
const EXACT: [string, string][] = [
  [
    'an agent with OTLP and without variables',
    `apiVersion: v1
kind: Pod
metadata:
  name: chat
  annotations:
    platform.io/otlp: "true"
spec:
  containers:
    - name: agent
      image: agent:1 # pinned
`,
  ],
  [
    'an agent with OTLP and variables',
    `apiVersion: v1
kind: Pod
metadata:
  name: chat
  annotations:
    platform.io/otlp: "true"
spec:
  containers:
    - name: agent
      env:
        # of the model
        - name: MODEL
          value: yes
      image: agent:1
`,
  ],
  [
    'an agent with lanes whose addresses are in quotes',
    `apiVersion: v1
kind: Pod
metadata:
  name: chat
  annotations:
    platform.io/egress-lanes: openai,anthropic,groq
    platform.io/egress-connect: log
spec:
  containers:
    - name: agent
      env:
        - name: OPENAI_BASE_URL # the gateway
          value: "https://llm.corp.example/v1" # by the platform team
        - { name: ANTHROPIC_BASE_URL, value: 'https://llm.corp.example' }
        - name: GROQ_BASE_URL
      image: agent:1
`,
  ],
  [
    'a port name that is not the first member, a hook by port name, an init container with a comment',
    `apiVersion: v1
kind: Pod
metadata:
    name: chat
spec:
    initContainers:
        # sets up
        - name: setup
          image: setup:1
    containers:
        - ports:
              - containerPort: 8000
                protocol: TCP
                name: web
          lifecycle:
              preStop:
                  httpGet:
                      port: web
                      path: /bye
          name: agent
    volumes:
        - name: cache
          emptyDir: {}
`,
  ],
  [
    'no newline at the end',
    'kind: Pod\napiVersion: v1\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: a',
  ],
  [
    'CRLF line endings',
    'kind: Pod\r\napiVersion: v1\r\nmetadata:\r\n  name: a\r\nspec:\r\n  containers:\r\n  - name: a\r\n',
  ],
  [
    'a byte order mark',
    '\ufeffkind: Pod\napiVersion: v1\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: a\n',
  ],
  [
    'flow style on one line',
    '{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly}, spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, ports: [{containerPort: 9000, name: web}]}]}}}}}}\n',
  ],
  [
    'JSON',
    `${JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { containers: [{ name: 'a' }] } }, null, 4)}\n`,
  ],
  [
    'JSON with CRLF line endings and a byte order mark',
    `\ufeff${JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { containers: [{ name: 'a' }] } }, null, 2)}\n`.replaceAll(
      '\n',
      '\r\n',
    ),
  ],
  [
    'JSON on one line',
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'a' },
      spec: { containers: [{ name: 'a' }] },
    }),
  ],
  [
    'JSON with members that are null',
    JSON.stringify(
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { creationTimestamp: null, name: 'a' },
        spec: { containers: [{ name: 'a', env: null }] },
        status: null,
      },
      null,
      2,
    ),
  ],
];

const withoutSpaces = (text: string): string => text.replaceAll(/\s/g, '');

describe('a text', () => {
  test.each(EXACT)('with %s is restored byte for byte', (_case, text) => {
    const once = injected(text);
    expect(actions(once)).toEqual(['changed']);
    expect(once.text).not.toBe(text);
    expect(uninjectManifests(once.text).text).toBe(text);
  });

  test.each(LOOSE)('with %s is restored except for spaces and line breaks', (_case, text) => {
    const once = injected(text);
    expect(actions(once)).toEqual(['changed']);
    expect(withoutSpaces(once.text)).not.toBe(withoutSpaces(text));
    expect(withoutSpaces(uninjectManifests(once.text).text)).toBe(withoutSpaces(text));
  });

  test.each([...EXACT, ...LOOSE])('with %s is not changed by a second injection', (_case, text) => {
    const once = injected(text);
    expect(injected(once.text)).toMatchObject({ text: once.text, outcomes: [{ code: 'up-to-date' }] });
  });

  test('keeps every unchanged line in its order', () => {
    const [[, text] = ['', '']] = LOOSE;
    const kept = injected(text).text.split('\n').map(withoutSpaces);
    const changed = text.split('\n').filter((line) => !kept.includes(withoutSpaces(line)));
    expect(changed.map((line) => line.trim())).toEqual([
      "labels: { app: 'chat' }",
      'containerPort: 8000',
      'readinessProbe: {httpGet: {path: /health, port: http}} # by name',
    ]);
  });

  test('with an older injection becomes equal to a fresh injection', () => {
    const [[, text] = ['', '']] = LOOSE;
    const older = injectManifests(text, injectionSettings({ version: '0.0.1', image: 'old:1' })).text;
    expect(injected(older).text).toBe(injected(text).text);
  });
});

describe('many documents', () => {
  const POD = (name: string): string =>
    `apiVersion: v1\nkind: Pod\nmetadata:\n  name: ${name}\nspec:\n  containers:\n    - name: a\n`;

  test('are handled separately, and documents without a workload stay unchanged', () => {
    const service = 'apiVersion: v1\nkind: Service # a\nmetadata: {name: s}\n';
    const foreign = 'apiVersion: example.com/v1\nkind: Deployment\nmetadata: {name: d}\nspec: 1\n';
    const out = POD('b').replace('name: b', 'name: b\n  annotations:\n    platform.io/inject: "false"');
    const text = [POD('a'), service, foreign, '# nothing\n', out].join('---\n');
    const { outcomes, text: changed } = injected(text);
    expect(
      outcomes.map(({ document, kind, name, code, action }) => [document, kind, name, code || action]),
    ).toEqual([
      [0, 'Pod', 'a', 'changed'],
      [1, 'Service', 's', 'no-workload'],
      [2, 'Deployment', 'd', 'no-workload'],
      [4, 'Pod', 'b', 'opted-out'],
    ]);
    expect(changed.endsWith([service, foreign, '# nothing\n', out].join('---\n'))).toBe(true);
    expect(uninjectManifests(changed).text).toBe(text);
  });

  test('in a List are injected separately', () => {
    const items = ['a', 'b'].map((name) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { containers: [{ name }] },
    }));
    const text = stringify({ apiVersion: 'v1', kind: 'List', items });
    const once = injected(text);
    expect(once.outcomes.map(({ name, action }) => [name, action])).toEqual([
      ['a', 'changed'],
      ['b', 'changed'],
    ]);
    expect(uninjectManifests(once.text).text).toBe(text);
  });

  test.each<[string, string, string, string]>([
    ['invalid YAML', 'a: [\n', 'not-yaml', 'not YAML: Flow sequence in block collection'],
    [
      'an unrendered template',
      'a: {{ .Values.x }}\n',
      'not-yaml',
      'not YAML: a key is not a scalar; render the template first',
    ],
    [
      'a workload without a pod',
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n',
      'not-a-pod',
      'spec.template.spec is missing',
    ],
    [
      'a generateName',
      'apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: j-}\nspec: {template: {spec: {containers: [{name: a}]}}}\n',
      'agent-name-unknown',
      'platform.io/agent-name',
    ],
    ['hostNetwork', POD('x').replace('spec:', 'spec:\n  hostNetwork: true'), 'host-network', 'hostNetwork'],
  ])('all stay unchanged if one is refused (%s)', (_case, bad, code, message) => {
    const text = `${POD('a')}---\n${bad}`;
    const result = injected(text);
    expect(result.text).toBe(text);
    const refused = result.outcomes.filter(({ action }) => action === 'refused');
    expect(refused).toEqual([expect.objectContaining({ document: 1, code })]);
    expect(refused[0]?.message).toContain(message);
  });

  test('are refused if the change would also affect an alias', () => {
    const text = `${POD('a').replace('name: a\n', 'name: a\n  labels: &l {x: y}\n')}  nodeSelector: *l\n`;
    expect(injected(text)).toMatchObject({ text, outcomes: [{ action: 'refused', code: 'text-unusual' }] });
  });
});

test('uninject refuses a sidecar without an injection record', () => {
  const text =
    'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: a}]\n  initContainers: [{name: platform-sidecar}]\n';
  expect(uninjectManifests(text)).toMatchObject({
    text,
    outcomes: [{ action: 'refused', code: 'no-record' }],
  });
});

/** The value without null members, which mean the same as absent members. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).filter(([, inner]) => inner !== null))
      : member,
  );

test('any pod in any YAML style is injected like its JSON form and restored', () => {
  const styles = fc.record({
    indent: fc.constantFrom(2, 4),
    indentSeq: fc.boolean(),
    collectionStyle: fc.constantFrom<'any' | 'flow'>('any', 'flow'),
    lineWidth: fc.constantFrom(0, 40),
  });
  fc.assert(
    fc.property(anyPod, styles, (pod, style) => {
      const text = stringify(pod, style);
      const once = injected(text);
      expect(actions(once)).toEqual(['changed']);
      const inJson = injected(JSON.stringify(pod)).text;
      const read = (from: string): unknown => plain(parseAllDocuments(from)[0]?.toJS());
      expect(read(once.text)).toEqual(plain(JSON.parse(inJson)));
      expect(read(uninjectManifests(once.text).text)).toEqual(
        plain(JSON.parse(uninjectManifests(inJson).text)),
      );
      const again = injected(uninjectManifests(once.text).text);
      expect(read(again.text)).toEqual(read(once.text));
    }),
    { numRuns: runs(12) },
  );
});
