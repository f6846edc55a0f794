import { spawnSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { matrixOf } from '../core/egress/matrix.ts';
import { parseManifest } from '../core/manifest/parse-manifest.ts';
import { commandFolder } from '../testing/cli/command-folder.ts';
import { misbehavingEgress } from '../testing/fleet/egress-facts.ts';
import { someFacts } from '../testing/fleet/facts.ts';
import { folderOf, pythonIn, whyNoPackages } from '../testing/frameworks/programs.ts';
import { TestServers } from '../testing/http/sockets.ts';
import { FULL_MANIFEST } from '../testing/manifests/manifest-text.ts';

const PLANTED = 'planted-secret-41f';
const NOON = '2026-03-01T12:00:00Z';
const PROMPT = 'You are a planted-prompt-7c2.';
/** Prints the errors of each document in the official schema, which rejects unknown members, as a list. */
const VALIDATE = `
import json, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
validators = {version: JsonStrictValidator(SchemaVersion.from_version(version)) for version in ('1.6', '1.7')}
errors = [
    [str(error) for error in validators[json.loads(each)['specVersion']].validate_str(each, all_errors=True) or []]
    for each in json.load(sys.stdin)
]
print(json.dumps(errors))
`;

const missing = whyNoPackages('evidence');
const withPython = missing === undefined ? test : test.skip;

const { run, write } = commandFolder();
const servers = new TestServers();
afterEach(() => servers.close());

const MANIFEST = `apiVersion: platform.io/v1
kind: PlatformAgent
metadata: { name: shop, version: 1.2.0, description: Sells things }
spec:
  model:
    provider: openai
    id: gpt-4o
    apiKey: ${PLANTED}
    fallback: { provider: anthropic, id: claude-haiku-4-5, apiKey: $secret:key }
  prompts: { system: $file:prompt.md }
  tools: [{ name: search, description: Finds orders }, { name: refund }]
  mcp:
    servers:
      - { name: orders, url: "http://bob:${PLANTED}@orders.example.com/mcp?key=${PLANTED}" }
      - { name: files, transport: stdio, command: npx, args: [files, ${PLANTED}] }
      - { name: later, url: $env:LATER_URL }
`;

interface Part {
  'bom-ref': string;
  properties: { name: string; value: string }[];
  hashes?: unknown;
  endpoints?: string[];
  evidence?: { identity: { methods: { technique: string }[] }[] };
}
interface Bom {
  components: Part[];
  services: Part[];
  dependencies: { ref: string; dependsOn?: string[] }[];
  compositions: { aggregate: string; assemblies: string[] }[];
  metadata: { component: { 'bom-ref': string } };
}

beforeEach(() => {
  write('agent.yaml', MANIFEST);
  write('prompt.md', PROMPT);
  write('full.yaml', FULL_MANIFEST);
});

/** A sidecar that observed an undeclared model and an undeclared tool. */
async function sidecar(agentName = 'shop'): Promise<string> {
  const parsed = parseManifest(MANIFEST);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const bodies: Record<string, unknown> = {
    '/explore': matrixOf(parsed.manifest, someFacts({ egress: misbehavingEgress() })),
    '/health/ready': { status: 'ready', source: 'agent-sdk', timestamp: NOON, checks: [], agentName },
  };
  const port = await servers.http((request, response) => {
    const body = bodies[new URL(request.url ?? '', 'http://sidecar').pathname];
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  return `http://127.0.0.1:${port}`;
}

const exported = (args = '', file = 'agent.yaml') => run(`export ${file} --format cyclonedx ${args}`);
const bomOf = async (args = ''): Promise<Bom> => JSON.parse((await exported(args)).output) as Bom;
const partsOf = ({ components, services }: Bom): Part[] => [...components, ...services];
const property = ({ properties }: Part, name: string): string | undefined =>
  properties.find((each) => each.name === name)?.value;

function errorsOf(documents: readonly string[]): string[][] {
  const input = JSON.stringify(documents);
  const { stdout, stderr } = spawnSync(pythonIn(folderOf('evidence')), ['-c', VALIDATE], {
    ...{ input, encoding: 'utf8' },
  });
  if (stderr !== '') throw new Error(stderr);
  return JSON.parse(stdout) as string[][];
}

describe('the bill of materials', () => {
  withPython('is valid in the strict schemas of 1.6 and 1.7, with and without a sidecar', async () => {
    const url = await sidecar();
    const documents: string[] = [];
    for (const version of ['1.6', '1.7'])
      for (const [args, file] of [
        ['', 'agent.yaml'],
        ['', 'full.yaml'],
        [`--url ${url}`, 'agent.yaml'],
      ] as const) {
        const { output, errors, exitCode } = await exported(`--spec-version ${version} ${args}`, file);
        expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
        documents.push(output);
      }
    const broken = documents[0]?.replace('"manifest-analysis"', '"observed"') ?? '';
    const errors = errorsOf([...documents, broken]);
    expect(errors.slice(0, -1)).toEqual(documents.map(() => []));
    expect(errors.at(-1)?.join()).toContain('observed');
  });

  test('depends only on parts that exist, each of which has one reference', async () => {
    const url = await sidecar();
    for (const args of ['', `--url ${url}`]) {
      const bom = await bomOf(args);
      const refs = [bom.metadata.component['bom-ref'], ...partsOf(bom).map((part) => part['bom-ref'])];
      expect(new Set(refs).size).toBe(refs.length);
      const used = bom.dependencies.flatMap(({ ref, dependsOn = [] }) => [ref, ...dependsOn]);
      expect(used.filter((ref) => !refs.includes(ref))).toEqual([]);
      expect(bom.compositions).toEqual([{ aggregate: 'incomplete', assemblies: refs }]);
    }
  });

  test('has every declared part, and neither a secret nor a text of a prompt', async () => {
    const { output } = await exported();
    expect(output).not.toContain(PLANTED);
    expect(output).not.toContain(PROMPT);
    const bom = JSON.parse(output) as Bom;
    expect(partsOf(bom).map((part) => part['bom-ref'])).toEqual([
      'model:openai/gpt-4o',
      'model:anthropic/claude-haiku-4-5',
      'prompt:prompt.md',
      'tool:search',
      'tool:refund',
      'endpoint:openai',
      'endpoint:anthropic',
      'mcp:orders',
      'mcp:files',
      'mcp:later',
    ]);
    expect(bom.components[2]?.hashes).toEqual([
      { alg: 'SHA-256', content: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ]);
    expect(bom.services.map(({ endpoints }) => endpoints)).toEqual([
      ['https://api.openai.com/v1'],
      ['https://api.anthropic.com'],
      ['http://orders.example.com/mcp'],
      undefined,
      undefined,
    ]);
    for (const part of partsOf(bom)) expect(property(part, 'aibom.confidence')).toBe('declared');
  });

  test('with a sidecar says what was observed, and marks what the manifest lacks', async () => {
    const bom = await bomOf(`--url ${await sidecar()}`);
    const rowOf = (part: Part): string[] => [
      part['bom-ref'],
      property(part, 'aibom.confidence') ?? '',
      property(part, 'agent-compliance:declared') ?? '',
      ...(part.evidence?.identity.flatMap(({ methods }) => methods.map(({ technique }) => technique)) ?? []),
    ];
    const rows = partsOf(bom).map(rowOf);
    expect(rows).toContainEqual([
      'model:openai/gpt-4o',
      'observed',
      'true',
      'manifest-analysis',
      'instrumentation',
    ]);
    expect(rows).toContainEqual(['tool:search', 'observed', 'true', 'manifest-analysis', 'instrumentation']);
    expect(rows).toContainEqual(['tool:refund', 'declared', 'true', 'manifest-analysis']);
    expect(rows).toContainEqual(['observed:model:gpt-5', 'observed', 'false', 'instrumentation']);
    expect(rows).toContainEqual(['observed:tool:delete_all_orders', 'observed', 'false', 'instrumentation']);
  });

  test('is the same for the same state', async () => {
    const url = await sidecar();
    expect(await exported(`--url ${url}`)).toEqual(await exported(`--url ${url}`));
    const serial = /urn:uuid:[0-9a-f-]+/;
    expect(serial.exec((await exported()).output)?.[0]).not.toBe(
      serial.exec((await exported('', 'full.yaml')).output)?.[0],
    );
  });

  test.each([
    [
      'the sidecar of another agent',
      async () => `--url ${await sidecar('other')}`,
      /belongs to agent "other"/,
    ],
    ['no sidecar', () => Promise.resolve('--url http://127.0.0.1:1'), /cannot connect to/],
  ])('is not made with %s', async (_what, argsOf, reason) => {
    const { output, errors, exitCode } = await exported(await argsOf());
    expect([output, errors, exitCode]).toEqual(['', expect.stringMatching(reason), 1]);
  });

  test('--url requires the format', async () => {
    expect((await run('export agent.yaml --format agentcard --url localhost:1')).errors).toContain(
      '--url requires --format cyclonedx',
    );
  });
});
