import { describe, expect, test } from '@jest/globals';
import { existsSync, mkdirSync } from 'node:fs';
import { parse, parseAllDocuments } from 'yaml';
import type { Pod } from '../../core/injection/pod.ts';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import type { Rendered } from '../rendered.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';

const { at, read, run, write } = commandFolder();

function platform(args: string | string[], stdin?: string | Uint8Array): Promise<Rendered> {
  const bytes = typeof stdin === 'string' ? new TextEncoder().encode(stdin) : stdin;
  return run(args, bytes && { stdin: () => Promise.resolve(bytes) });
}

const deployment = (name: string, more = ''): string => `# ${name}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
spec:
  template:
    metadata:
      labels: {app: ${name}}
    spec:${more}
      containers:
        - name: agent
          ports:
            - name: http
              containerPort: 8000
`;
const SERVICE = 'apiVersion: v1\nkind: Service\nmetadata:\n  name: chat # same\n';
const HOST_NETWORK = '\n      hostNetwork: true';

const templateOf = (text: string): Pod => (parse(text) as { spec: { template: Pod } }).spec.template;
const sidecarOf = (pod: Pod) => pod.spec.initContainers?.find(({ name }) => name === 'platform-sidecar');
const envOf = (pod: Pod): Record<string, string | undefined> =>
  Object.fromEntries((sidecarOf(pod)?.env ?? []).map(({ name, value }) => [name, value]));

describe('inject', () => {
  test('prints the injected workload, and reports the outcome of each document on standard error', async () => {
    write('chat.yaml', `${deployment('chat')}---\n${SERVICE}`);
    const { output, errors, exitCode } = await platform('inject chat.yaml');
    expect([errors, exitCode]).toEqual([
      'chat.yaml[1] Deployment/chat: injected: agent chat\nchat.yaml[2] Service/chat: no workload: passed through\n',
      0,
    ]);
    expect(output.startsWith('# chat\n')).toBe(true);
    expect(output.endsWith(`---\n${SERVICE}`)).toBe(true);
    const pod = parseAllDocuments(output)[0]?.toJS() as { spec: { template: Pod } };
    expect(sidecarOf(pod.spec.template)?.ports?.[0]).toEqual({
      name: 'http',
      containerPort: 4000,
      protocol: 'TCP',
    });
    // Without a control plane there are no heartbeats, so no token and no state are mounted.
    expect(Object.keys(envOf(pod.spec.template))).not.toContain('PLATFORM_URL');
    expect(pod.spec.template.spec.volumes?.map(({ name }) => name)).toEqual([
      'platform-manifest',
      'platform-identity',
      'platform-noapi',
    ]);
    expect(JSON.stringify(pod.spec.template.spec.volumes)).not.toContain('serviceAccountToken');
  });

  test('reads standard input, and uninject restores it byte for byte', async () => {
    const text = `${deployment('chat')}---\n${SERVICE}`;
    const { output } = await platform('inject -', text);
    expect(await platform('uninject -', output)).toEqual({
      output: text,
      errors: '-[1] Deployment/chat: uninjected\n-[2] Service/chat: no workload: passed through\n',
      exitCode: 0,
    });
  });

  test('points the trace exporter of a workload with platform.io/otlp to the sidecar, and uninject restores it', async () => {
    const text = deployment('chat').replace(
      'labels:',
      'annotations: {platform.io/otlp: "true"}\n      labels:',
    );
    const collector = ['--otlp-collector', 'http://collector.example:4318/'];
    const { output } = await platform(['inject', '-', ...collector], text);
    const pod = templateOf(output);
    expect(pod.spec.containers[0]?.env?.map(({ name, value }) => `${name}=${value}`)).toEqual([
      'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:4318/v1/traces',
      'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf',
    ]);
    expect(envOf(pod)).toMatchObject({
      OTLP_PORT: '4318',
      OTLP_FORWARD_URL: 'http://collector.example:4318',
    });
    expect((await platform('uninject -', output)).output).toBe(text);
  });

  test('sends the calls of a workload with platform.io/egress-lanes to its lanes, and uninject restores it', async () => {
    const text = deployment('chat')
      .replace('labels:', 'annotations: {platform.io/egress-lanes: "anthropic,azure"}\n      labels:')
      .replace(
        '- name: agent',
        '- name: agent\n          env: [{name: ANTHROPIC_BASE_URL, value: "https://llm.corp.example"}]',
      );
    const { output, errors } = await platform('inject -', text);
    const pod = templateOf(output);
    expect(pod.spec.containers[0]?.env).toEqual([
      { name: 'ANTHROPIC_BASE_URL', value: 'http://127.0.0.1:4002/anthropic' },
    ]);
    expect(envOf(pod)).toMatchObject({
      EGRESS_LANES: 'anthropic=https://llm.corp.example',
      EGRESS_NOT_REWRITTEN: 'azure=AZURE_OPENAI_ENDPOINT:absent',
      CENSUS: 'on',
    });
    expect(errors).toContain('platform.io/egress-lanes has no effect on AZURE_OPENAI_ENDPOINT (azure)');
    expect((await platform('uninject -', output)).output).toBe(text);
  });

  test('reads directories recursively in order, and writes the same tree', async () => {
    write('in/b/two.yml', deployment('two'));
    write('in/a.yaml', deployment('one'));
    write('in/note.txt', 'no manifest');
    write('in/.hidden/x.yaml', 'a: [');
    const { output, errors, exitCode } = await platform('inject in --output out');
    expect([output, exitCode]).toEqual(['', 0]);
    expect(errors).toBe(
      'in/a.yaml[1] Deployment/one: injected: agent one\nin/b/two.yml[1] Deployment/two: injected: agent two\n',
    );
    expect(sidecarOf(templateOf(read('out/a.yaml')))).toBeDefined();
    expect(sidecarOf(templateOf(read('out/b/two.yml')))).toBeDefined();
    const joined = await platform('inject in');
    expect(parseAllDocuments(joined.output)).toHaveLength(2);
  });

  test('writes a single input to the output file, also in place', async () => {
    write('chat.yaml', deployment('chat'));
    expect(await platform('inject chat.yaml --output chat.yaml')).toMatchObject({
      output: '',
      exitCode: 0,
    });
    expect(sidecarOf(templateOf(read('chat.yaml')))).toBeDefined();
    expect(await platform('uninject chat.yaml --output chat.yaml')).toMatchObject({ exitCode: 0 });
    expect(read('chat.yaml')).toBe(deployment('chat'));
  });

  test('a generated deployment already has its sidecar', async () => {
    write('agent.yaml', manifestText());
    await platform('generate agent.yaml --deploy k8s');
    const { errors, exitCode } = await platform('inject generated/k8s/deployment.yaml');
    expect(errors).toMatch(
      /: refused: the pod already has its sidecar, for example from "platform generate --deploy": apply it without injection, or remove the container platform-sidecar and its volumes\nerror: nothing/,
    );
    expect(exitCode).toBe(1);
  });

  test('writes nothing when one workload is refused', async () => {
    write('good.yaml', deployment('good'));
    write('bad.yaml', deployment('bad', HOST_NETWORK));
    for (const more of [[], ['--output', 'out']]) {
      const { output, errors, exitCode } = await platform(['inject', 'good.yaml', 'bad.yaml', ...more]);
      expect([output, exitCode]).toEqual(['', 1]);
      expect(errors).toContain(
        'bad.yaml[1] Deployment/bad: refused: a pod with hostNetwork cannot be injected',
      );
      expect(errors).toContain('error: nothing was written because a workload was refused\n');
    }
    expect(existsSync(at('out'))).toBe(false);
  });

  test('skips a workload with platform.io/inject: "false"', async () => {
    const out = deployment('out').replace(
      'labels:',
      "annotations: {platform.io/inject: 'false'}\n      labels:",
    );
    const { output, errors, exitCode } = await platform('inject -', out);
    expect([output, exitCode]).toEqual([out, 0]);
    expect(errors).toBe('-[1] Deployment/out: skipped: annotation platform.io/inject is "false"\n');
  });

  test('--json reports every document, with its text unless the text was written to a file', async () => {
    write('chat.yaml', `${deployment('chat')}---\n${SERVICE}`);
    const report = JSON.parse((await platform('inject chat.yaml --json')).output) as Record<string, unknown>;
    expect(report).toMatchObject({
      injected: 1,
      skipped: 0,
      refused: 0,
      passed: 1,
      files: [
        {
          file: 'chat.yaml',
          text: expect.stringContaining('platform-sidecar'),
          documents: [
            {
              document: 1,
              kind: 'Deployment',
              name: 'chat',
              namespace: '',
              action: 'injected',
              code: '',
              message: 'agent chat',
            },
            { document: 2, kind: 'Service', action: 'passed', code: 'no-workload' },
          ],
        },
      ],
    });
    const written = await platform('inject chat.yaml --json --output out.yaml');
    expect(JSON.parse(written.output)).toMatchObject({ files: [{ file: 'chat.yaml', output: 'out.yaml' }] });
    expect(written.output).not.toContain('"text"');
    const refused = await platform('inject - --json', deployment('bad', HOST_NETWORK));
    expect(refused.exitCode).toBe(1);
    expect(JSON.parse(refused.output)).toMatchObject({
      injected: 0,
      refused: 1,
      files: [{ documents: [{ action: 'refused', code: 'host-network' }] }],
    });
  });

  test('options set the same values as a chart installation', async () => {
    write('ca.pem', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n');
    const { output, errors } = await platform(
      [
        'inject - --agent-name support --image mirror/sidecar:2 --image-pull-policy Always',
        '--engine opa --opa-image mirror/opa:1 --mode enforce --log-level debug --cpu-request 50m --cpu-limit 2',
        '--memory-request 128Mi --memory-limit 256Mi --platform-url https://platform.example --ca-file ca.pem',
        '--heartbeat-seconds 60',
      ].join(' '),
      deployment('chat'),
    );
    expect(errors).toBe('-[1] Deployment/chat: injected: agent support\n');
    const pod = templateOf(output);
    expect(pod.spec.initContainers?.map(({ name, image }) => [name, image])).toEqual([
      ['platform-policy', 'mirror/sidecar:2'],
      ['platform-opa', 'mirror/opa:1'],
      ['platform-sidecar', 'mirror/sidecar:2'],
    ]);
    expect(envOf(pod)).toMatchObject({
      AGENT_NAME: 'support',
      POLICY_ENGINE: 'opa',
      POLICY_URL: 'http://127.0.0.1:8181',
      POLICY_SOCKET: '/run/platform-engine/opa.sock',
      POLICY_PROXY_MODE: 'enforce',
      LOG_LEVEL: 'debug',
      PLATFORM_URL: 'https://platform.example',
      PLATFORM_CA_FILE: '/var/run/secrets/platform.io/ca.crt',
      HEARTBEAT_SECONDS: '60',
    });
    expect(sidecarOf(pod)).toMatchObject({
      imagePullPolicy: 'Always',
      resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { cpu: '2', memory: '256Mi' } },
    });
  });

  test.each<[string, string, string]>([
    ['an invalid quantity', '--memory-limit lots', 'Must be a memory quantity from 96Mi to 16Gi'],
    ['a request over its limit', '--cpu-request 2 --cpu-limit 1', 'the cpu request 2 exceeds the limit 1'],
    ['an engine without its image', '--engine opa', '--engine opa and --opa-image must be used together'],
    ['an image without its engine', '--opa-image x', '--engine opa and --opa-image must be used together'],
    ['a CA file without a control plane', '--ca-file ca.pem', '--ca-file requires --platform-url'],
    [
      'a CA file that does not exist',
      '--platform-url https://x --ca-file ca.pem',
      '--ca-file ca.pem: does not exist',
    ],
    [
      'a CA file without certificates',
      '--platform-url https://x --ca-file in.yaml',
      '--ca-file in.yaml: contains no PEM certificate',
    ],
    [
      'an unsupported URL',
      '--platform-url ftp://x',
      "option '--platform-url <url>' argument 'ftp://x' is invalid",
    ],
    [
      'a collector that is not a URL',
      '--otlp-collector ftp://collector:4318',
      "option '--otlp-collector <url>' argument 'ftp://collector:4318' is invalid",
    ],
    ['a heartbeat interval that is too short', '--heartbeat-seconds 9', 'Must be an integer from 10 to 3600'],
    [
      'one agent name for two workloads',
      '--agent-name one in.yaml',
      '--agent-name applies to a single workload, but 2 would be injected',
    ],
    ['a file that does not exist', 'none.yaml', 'none.yaml: does not exist'],
    ['a directory without manifests', 'empty', 'empty: contains no .yaml, .yml or .json file'],
    [
      'two inputs for one output path',
      'in.yaml --output out',
      'out/in.yaml: two inputs have this output path',
    ],
    [
      'an output path below a file',
      '--output in.yaml/x',
      'cannot write in.yaml/x: a parent path is not a directory',
    ],
  ])('reports %s as an error', async (_case, more, message) => {
    write('in.yaml', deployment('chat'));
    mkdirSync(at('empty'));
    const { output, errors, exitCode } = await platform(`inject in.yaml ${more}`);
    expect(errors).toContain(message);
    expect([output, exitCode]).toEqual(['', 1]);
  });

  test('reports invalid UTF-8 and missing standard input', async () => {
    expect(await platform('inject -', new Uint8Array([0xff, 0xfe]))).toMatchObject({
      errors: 'error: -: is not valid UTF-8 text\n',
      exitCode: 1,
    });
    expect(await platform('inject -')).toMatchObject({
      errors: 'error: -: no standard input\n',
      exitCode: 1,
    });
  });

  test('removes control characters from names in its output', async () => {
    const text = deployment('x').replace('name: x', 'name: "x\\u001b[2J"');
    expect((await platform('inject -', text)).errors).not.toContain('\u001b');
  });
});

test('uninject reports workloads that are not injected and leaves them unchanged', async () => {
  expect(await platform('uninject -', deployment('chat'))).toEqual({
    output: deployment('chat'),
    errors: '-[1] Deployment/chat: skipped: not injected\n',
    exitCode: 0,
  });
});
