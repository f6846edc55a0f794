import { describe, expect, test } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { FULL_MANIFEST, manifestText } from '../../testing/manifests/manifest-text.ts';
import fc, { anyCharacter, runs } from '../../testing/properties.ts';
import type { ManifestProblem } from './manifest.ts';
import { parseManifest } from './parse-manifest.ts';
import { MANIFEST_SCHEMA } from './schema.ts';
import type { SchemaNode } from './schema-node.ts';

const LINES_BEFORE_SPEC = 11;

function problemsOf(text: string): ManifestProblem[] {
  const parsed = parseManifest(text);
  return parsed.ok ? [] : parsed.problems;
}

/** What a problem list must be, short: `line:column path message => suggestion`. */
const brief = ({ line, column, path, message, suggestion }: ManifestProblem): string =>
  `${line}:${column} ${path} | ${message}${suggestion === undefined ? '' : ` => ${suggestion}`}`;

/** Lines of `spec` count from 1 in the tables below. */
function problemsOfSpec(spec: string): string[] {
  return problemsOf(manifestText(spec))
    .map((problem) => ({ ...problem, line: problem.line - LINES_BEFORE_SPEC }))
    .map(brief);
}

/** A whole document where one line of the minimal manifest is another, or gone. */
const withLine = (line: string, instead: string): string => manifestText().replace(`${line}\n`, instead);

describe('a good manifest', () => {
  test('is given back as it was written, with references unresolved and no defaults filled in', () => {
    expect(parseManifest(manifestText())).toEqual({
      ok: true,
      manifest: {
        apiVersion: 'platform.io/v1',
        kind: 'PlatformAgent',
        metadata: { name: 'minimal', version: '1.0.0', description: 'The least that is a manifest.' },
        spec: { model: { provider: 'openai', id: 'gpt-4.1', apiKey: '$env:OPENAI_API_KEY' } },
      },
    });
  });

  test('can use every key of the schema', () => {
    const parsed = parseManifest(FULL_MANIFEST);
    expect(parsed).toEqual({ ok: true, manifest: parse(FULL_MANIFEST) });
    expect(keysThatLack(MANIFEST_SCHEMA, parse(FULL_MANIFEST), '')).toEqual([]);
  });

  test.each([
    ['references for values with a format', '  api: { url: $env:PUBLIC_URL, pathPrefix: "$env:PREFIX" }\n'],
    ['references for addresses', '  requires:\n    services: [{ type: redis, address: $env:REDIS }]\n'],
    [
      'references for dates',
      '  compliance:\n    suppressions: [{ rule: R, reason: x, expires: $func:now_date }]\n',
    ],
    ['IPv6 addresses', '  requires:\n    services: [{ type: redis, address: "[::1]:6379" }]\n'],
    [
      'several services of one type under different names',
      '  requires:\n    services: [{ type: redis }, { name: b, type: redis }]\n',
    ],
    ['several guardrails of one type', '  guardrails: { input: [{ type: custom }, { type: custom }] }\n'],
    ['a file in a folder below', '  prompts: { system: "$file:a/../b/c.md" }\n'],
    ['a dollar sign that begins no reference', '  prompts: { system: "$100: what a price" }\n'],
    ['anything under an x- key', '  x-any: { tools: 3, deep: [$foo:bar], "odd key": { a: 1 } }\n'],
    ['anchors and aliases', '  x-note: &note hello\n  prompts: { system: *note, fallback: *note }\n'],
    ['empty lists', '  tools: []\n  skills: []\n'],
    ['a blank description of a tool', '  tools: [{ name: a, description: "" }]\n'],
    ['prices of which one is not known', '  x-y: 1\n'],
  ])('takes %s', (_what, spec) => {
    expect(problemsOfSpec(spec)).toEqual([]);
  });

  test('takes a reference for its version', () => {
    expect(problemsOf(withLine('  version: 1.0.0', '  version: $env:VERSION\n'))).toEqual([]);
  });

  test('may begin with a byte order mark, have Windows line ends and a document marker', () => {
    const text = `\ufeff---\n${manifestText()}...\n`.replaceAll('\n', '\r\n');
    expect(problemsOf(text)).toEqual([]);
  });

  test('keeps a key called __proto__ under x- away from the prototype', () => {
    const parsed = parseManifest(manifestText('  x-a: { __proto__: { polluted: true } }\n'));
    expect(parsed.ok).toBe(true);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

/** Keys of the schema that a value does not use; of the items of a list it is enough that one uses a key. */
function keysThatLack(node: SchemaNode, value: unknown, path: string): string[] {
  if (node.items !== undefined) {
    const [first = [path], ...others] = (value as unknown[]).map((item) =>
      keysThatLack(node.items!, item, `${path}[]`),
    );
    return first.filter((key) => others.every((lacking) => lacking.some((each) => key.startsWith(each))));
  }
  return Object.entries(node.properties ?? {}).flatMap(([key, child]) => {
    const inner = (value as Record<string, unknown>)[key];
    return inner === undefined ? [`${path}.${key}`] : keysThatLack(child, inner, `${path}.${key}`);
  });
}

describe('a document that is no manifest', () => {
  const GUARD = 'is empty: a manifest has apiVersion, kind, metadata and spec';
  test.each([
    ['nothing', '', [`1:1  | ${GUARD}`]],
    ['comments alone', '# hello\n', [`1:1  | ${GUARD}`]],
    ['a list', '- a\n', ['1:1  | must be an object with apiVersion, kind, metadata and spec, is a list']],
    [
      'plain text',
      'hello',
      ['1:1  | must be an object with apiVersion, kind, metadata and spec, is plain text'],
    ],
    [
      'two documents',
      `${manifestText()}---\na: 1\n`,
      ['12:1  | YAML: a second document begins here; a manifest is one document'],
    ],
    [
      'an older version of the format, whatever else it has',
      'apiVersion: platform.io/v1alpha1\nkind: PlatformAgent\nspec: { old: true }\n',
      [
        '1:13 apiVersion | "platform.io/v1alpha1" is an older version of the manifest, which this version does not read => platform.io/v1',
      ],
    ],
    [
      'an agentspec manifest',
      'kind: AgentSpec\napiVersion: agentspec.io/v1\n',
      [
        '2:13 apiVersion | "agentspec.io/v1" is an agentspec manifest, which this version does not read => platform.io/v1',
      ],
    ],
    [
      'a legacy agentspec manifest',
      'apiVersion: agentspec/v1alpha1\nkind: AgentSpec\n',
      [
        '1:13 apiVersion | "agentspec/v1alpha1" is an agentspec manifest, which this version does not read => platform.io/v1',
      ],
    ],
    [
      'another resource',
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: { labels: {} }\n',
      [
        '1:1 apiVersion | is no agent manifest but "apps/v1 Deployment"; a manifest begins with apiVersion platform.io/v1 and kind PlatformAgent',
      ],
    ],
    [
      'an object without anything of a manifest',
      'a: 1\n',
      [
        '1:1 apiVersion | the key "apiVersion" is missing',
        '1:1 kind | the key "kind" is missing',
        '1:1 metadata | the key "metadata" is missing',
        '1:1 spec | the key "spec" is missing',
        '1:1 a | unknown key "a"; known here: apiVersion, kind, metadata, spec',
      ],
    ],
  ])('%s', (_what, text, expected) => {
    expect(problemsOf(text).map(brief)).toEqual(expected);
  });

  test('is refused over 1 MiB, by its bytes', () => {
    const tooLarge = ['1:1  | is larger than 1 MiB, the most that a manifest can be'];
    const room = 1024 * 1024 - manifestText().length - 2;
    expect(problemsOf(`${manifestText()}# ${'x'.repeat(room)}`)).toEqual([]);
    expect(problemsOf(`${manifestText()}# ${'x'.repeat(room + 1)}`).map(brief)).toEqual(tooLarge);
    expect(problemsOf(`${manifestText()}# ${'ü'.repeat(room / 2 + 1)}`).map(brief)).toEqual(tooLarge);
  });
});

describe('a mistake in the head of a manifest', () => {
  test.each([
    [
      'apiVersion: platform.io/v1',
      'apiVersion: platform.io/v2\n',
      ['1:13 apiVersion | must be "platform.io/v1", is "platform.io/v2" => platform.io/v1'],
    ],
    [
      'kind: PlatformAgent',
      'kind: platformagent\n',
      ['2:7 kind | must be "PlatformAgent", is "platformagent" => PlatformAgent'],
    ],
    ['kind: PlatformAgent', '', ['1:1 kind | the key "kind" is missing']],
    ['kind: PlatformAgent', 'Kind: PlatformAgent\n', ['2:1 Kind | unknown key "Kind" => kind']],
    [
      '  name: minimal',
      '  name: My_Agent\n',
      [
        '4:9 metadata.name | must be a DNS label: 1 to 63 lower-case letters, digits and hyphens, no hyphen at either end, is "My_Agent" => my-agent',
      ],
    ],
    [
      '  name: minimal',
      '  name: $env:AGENT\n',
      [
        '4:9 metadata.name | must be a DNS label: 1 to 63 lower-case letters, digits and hyphens, no hyphen at either end, is "$env:AGENT"',
      ],
    ],
    [
      '  name: minimal',
      `  name: ${'a'.repeat(64)}\n`,
      [
        `4:9 metadata.name | must be a DNS label: 1 to 63 lower-case letters, digits and hyphens, no hyphen at either end, is "${'a'.repeat(60)}…"`,
      ],
    ],
    [
      '  version: 1.0.0',
      '  version: 1.0\n',
      ['5:12 metadata.version | must be a semantic version such as 1.2.3, is the number 1.0 => 1.0.0'],
    ],
    [
      '  version: 1.0.0',
      '  version: v1.2.3\n',
      ['5:12 metadata.version | must be a semantic version such as 1.2.3, is "v1.2.3" => 1.2.3'],
    ],
    [
      '  version: 1.0.0',
      '  version: latest\n',
      ['5:12 metadata.version | must be a semantic version such as 1.2.3, is "latest"'],
    ],
    [
      '  description: The least that is a manifest.',
      '  description:\n',
      ['6:3 metadata.description | must be text, is empty'],
    ],
    [
      '  description: The least that is a manifest.',
      '',
      ['3:1 metadata.description | the key "description" is missing'],
    ],
    [
      '    apiKey: $env:OPENAI_API_KEY',
      '    apikey: $env:OPENAI_API_KEY\n',
      ['11:5 spec.model.apikey | unknown key "apikey" => apiKey'],
    ],
    [
      '    apiKey: $env:OPENAI_API_KEY',
      '    apiKey: 12345\n',
      ['11:13 spec.model.apiKey | must be text, is a number'],
    ],
    ['    id: gpt-4.1', '    id: ""\n', ['10:9 spec.model.id | must not be empty']],
    [
      '    id: gpt-4.1',
      '    id: 4.10\n',
      ['10:9 spec.model.id | must be text, is the number 4.10 => "4.10"'],
    ],
  ])('%s → %j', (line, instead, expected) => {
    expect(problemsOf(withLine(line, instead)).map(brief)).toEqual(expected);
  });
});

describe('a mistake under spec', () => {
  test.each<[string, string, string[]]>([
    ['an unknown key with a near one', '  tols: []\n', ['1:3 spec.tols | unknown key "tols" => tools']],
    [
      'an unknown key with none near',
      '  evaluation: { bananas: 1 }\n',
      [
        '1:17 spec.evaluation.bananas | unknown key "bananas"; known here: framework, datasets, metrics, thresholds, ciGate',
      ],
    ],
    [
      'a key that belongs deeper',
      '  temperature: 1\n',
      ['1:3 spec.temperature | unknown key "temperature" => spec.model.parameters.temperature'],
    ],
    [
      'a key that belongs higher',
      '  prompts: { apiVersion: platform.io/v1 }\n',
      ['1:14 spec.prompts.apiVersion | unknown key "apiVersion" => apiVersion'],
    ],
    [
      'a merge key',
      '  x-base: &base { system: a }\n  prompts: { <<: *base }\n',
      ['2:14 spec.prompts["<<"] | merge keys ("<<") are not part of YAML 1.2; write the keys out'],
    ],
    [
      'a key that is written twice',
      '  tools: []\n  tools: []\n',
      ['2:3 spec.tools | the key "tools" is already on line 12'],
    ],
    ['a key that is a list', '  prompts: { [a]: b }\n', ['1:14 spec.prompts | a key must be plain text']],
    [
      'an object where a list must be',
      '  tools: { name: a }\n',
      ['1:10 spec.tools | must be a list, is an object'],
    ],
    ['text where a list must be', '  tools: a\n', ['1:10 spec.tools | must be a list, is "a"']],
    ['nothing where an object must be', '  memory:\n', ['1:3 spec.memory | must be an object, is empty']],
    [
      'nothing where a list item must be',
      '  tools:\n    -\n',
      ['2:6 spec.tools[0] | must be an object, is empty'],
    ],
    [
      'yes for a boolean',
      '  prompts: { hotReload: yes }\n',
      ['1:25 spec.prompts.hotReload | must be true or false, is "yes" => true'],
    ],
    [
      'a quoted number',
      '  api: { port: "8000" }\n',
      ['1:16 spec.api.port | must be a whole number from 1 to 65535, is "8000" => 8000'],
    ],
    [
      'a reference for a number',
      '  api: { port: $env:PORT }\n',
      ['1:16 spec.api.port | must be a whole number from 1 to 65535, is "$env:PORT"'],
    ],
    [
      'a fraction for a whole number',
      '  api: { port: 80.5 }\n',
      ['1:16 spec.api.port | must be a whole number from 1 to 65535, is the number 80.5'],
    ],
    [
      'a number out of its range',
      '  guardrails: { output: [{ type: toxicity-filter, threshold: 70 }] }\n',
      ['1:62 spec.guardrails.output[0].threshold | must be a number from 0 to 1, is the number 70'],
    ],
    [
      'a number that is none',
      '  evaluation: { thresholds: { pass_rate: .nan } }\n',
      ['1:42 spec.evaluation.thresholds.pass_rate | must be a number from 0 to 1, is the number .nan'],
    ],
    [
      'a number for text',
      '  requires: { pythonVersion: 3.10 }\n',
      ['1:30 spec.requires.pythonVersion | must be text, is the number 3.10 => "3.10"'],
    ],
    [
      'a misspelt word',
      '  guardrails: { input: [{ type: pii-detecter }] }\n',
      [
        '1:33 spec.guardrails.input[0].type | must be topic-filter, pii-detector, prompt-injection, hallucination-detector, toxicity-filter or custom, is "pii-detecter" => pii-detector',
      ],
    ],
    [
      'a word that is none of the list',
      '  tools: [{ name: a, type: banana }]\n',
      ['1:28 spec.tools[0].type | must be function, mcp or builtin, is "banana"'],
    ],
    [
      'a reference for a word',
      '  tools: [{ name: a, type: $env:T }]\n',
      ['1:28 spec.tools[0].type | must be function, mcp or builtin, is "$env:T"'],
    ],
    [
      'grpc',
      '  api: { type: grpc }\n',
      [
        '1:16 spec.api.type | grpc is not possible: an HTTP/1.1 proxy stands before the agent, which cannot carry it; use rest, mcp or websocket',
      ],
    ],
    [
      'a path without its slash',
      '  api: { healthEndpoint: health }\n',
      ['1:26 spec.api.healthEndpoint | must be a path that begins with /, is "health" => /health'],
    ],
    [
      'an A2A interface without an address',
      '  api: { a2a: { protocolBinding: JSONRPC } }\n',
      ['1:3 spec.api | an A2A interface needs "url", the address for its clients'],
    ],
    [
      'an A2A interface over gRPC',
      '  api: { url: https://shop.example, a2a: { protocolBinding: GRPC } }\n',
      [
        '1:61 spec.api.a2a.protocolBinding | GRPC is not possible: an HTTP/1.1 proxy stands before the agent, which cannot carry it; use JSONRPC or HTTP+JSON',
      ],
    ],
    [
      'an A2A interface of a binding and a version that are unknown',
      '  api: { url: https://shop.example, a2a: { protocolBinding: jsonrpc, path: a2a, protocolVersion: 1.0 } }\n',
      [
        '1:61 spec.api.a2a.protocolBinding | must be JSONRPC or HTTP+JSON, is "jsonrpc" => JSONRPC',
        '1:76 spec.api.a2a.path | must be a path that begins with /, is "a2a" => /a2a',
        '1:98 spec.api.a2a.protocolVersion | must be 1.0 or 0.3, is the number 1.0 => 1.0',
      ],
    ],
    [
      'an A2A interface without a binding',
      '  api: { url: https://shop.example, a2a: {} }\n',
      ['1:37 spec.api.a2a.protocolBinding | the key "protocolBinding" is missing'],
    ],
    [
      'a URL for a path',
      '  api: { capabilitiesEndpoint: http://shop/tools }\n',
      [
        '1:32 spec.api.capabilitiesEndpoint | must be a path that begins with /, is "http://shop/tools" => /http://shop/tools',
      ],
    ],
    [
      'a URL without its scheme',
      '  humanInTheLoop: { webhookUrl: example.com/hook }\n',
      [
        '1:33 spec.humanInTheLoop.webhookUrl | must be a URL that begins with http:// or https://, is "example.com/hook" => https://example.com/hook',
      ],
    ],
    [
      'a date that is none',
      '  compliance:\n    suppressions: [{ rule: R, reason: x, expires: 31.1.2027 }]\n',
      [
        '2:51 spec.compliance.suppressions[0].expires | must be an ISO 8601 date such as 2027-01-31, or 2027-01-31T12:00:00Z, is "31.1.2027"',
      ],
    ],
    [
      'an address without a port, and one with a port that cannot be',
      '  requires:\n    services:\n      - { type: redis, address: redis }\n      - { type: kafka, address: kafka:99999 }\n',
      [
        '3:33 spec.requires.services[0].address | must be host:port (port 1 to 65535) or a connection URL such as redis://cache:6379, is "redis"',
        '4:33 spec.requires.services[1].address | must be host:port (port 1 to 65535) or a connection URL such as redis://cache:6379, is "kafka:99999"',
      ],
    ],
    [
      'a malformed connection URL, without its password',
      '  requires:\n    services: [{ type: pg, address: "postgres:/me:s3cret@db" }]\n',
      [
        '2:37 spec.requires.services[0].address | must be host:port (port 1 to 65535) or a connection URL such as redis://cache:6379, is "postgres:/me:***@db"',
      ],
    ],
    [
      'a URL with a password but without its scheme',
      '  api: { url: "me:s3cret@example.com" }\n',
      [
        '1:15 spec.api.url | must be a URL that begins with http://, https://, ws:// or wss://, is "me:***@example.com"',
      ],
    ],
    [
      'a service without any name',
      '  requires:\n    services:\n      - address: redis:6379\n',
      ['3:9 spec.requires.services[0] | a service needs "name" or "type"'],
    ],
    [
      'names of variables that are none',
      '  requires: { envVars: [$env:FOO, "${BAR}", a-b, 3x] }\n',
      [
        ['1:25 spec.requires.envVars[0]', '"$env:FOO" => FOO'],
        ['1:35 spec.requires.envVars[1]', '"${BAR}" => BAR'],
        ['1:45 spec.requires.envVars[2]', '"a-b" => a_b'],
        ['1:50 spec.requires.envVars[3]', '"3x"'],
      ].map(
        ([where, what]) =>
          `${where} | must be the name of an environment variable: letters, digits and _, no digit first, is ${what}`,
      ),
    ],
    [
      'an sse server without an address',
      '  mcp:\n    servers:\n      - name: a\n        transport: sse\n        host: x\n',
      ['3:9 spec.mcp.servers[0] | an sse or http server needs "url", or "host" and "port"'],
    ],
    [
      'a stdio server without a command',
      '  mcp:\n    servers:\n      - { name: a, transport: stdio, url: "http://x" }\n',
      ['3:9 spec.mcp.servers[0] | a stdio server needs "command"'],
    ],
    [
      'a server without transport and address',
      '  mcp:\n    servers:\n      - name: a\n',
      ['3:9 spec.mcp.servers[0] | a server needs "url", or "host" and "port", or "command"'],
    ],
    [
      'a subagent that is at two places, and one that is at none',
      '  subagents:\n    - { name: a, ref: { manifest: a.yaml, a2a: { url: "http://a" } } }\n    - { name: b, ref: {} }\n',
      [
        '2:18 spec.subagents[0].ref | needs exactly one of "manifest" and "a2a"',
        '3:18 spec.subagents[1].ref | needs exactly one of "manifest" and "a2a"',
      ],
    ],
    [
      'a compliance pack that is none',
      '  compliance: { packs: [memory-hygine] }\n',
      [
        '1:25 spec.compliance.packs[0] | must be owasp-llm-top10, model-resilience, memory-hygiene, evaluation-coverage, observability or metadata-quality, is "memory-hygine" => memory-hygiene',
      ],
    ],
    [
      'a required key that is missing in a list item',
      '  skills:\n    - version: 1.0.0\n',
      ['2:7 spec.skills[0].id | the key "id" is missing'],
    ],
    [
      'an alias without an anchor',
      '  prompts: { system: *nowhere }\n',
      ['1:22 spec.prompts.system | the alias "*nowhere" refers to no anchor above it'],
    ],
    [
      'an alias inside what it refers to',
      '  x-a: &a [*a]\n',
      ['1:12 spec.x-a[0] | the alias "*a" stands inside what it refers to'],
    ],
  ])('%s', (_what, spec, expected) => {
    expect(problemsOfSpec(spec)).toEqual(expected);
  });

  test.each<[string, string, string]>([
    [
      'tools',
      '  tools:\n    - name: a\n    - name: a\n',
      '3:13 spec.tools[1].name | the name "a" is already used by spec.tools[0] on line 13',
    ],
    [
      'MCP servers',
      '  mcp:\n    servers:\n      - { name: a, url: http://x }\n      - { name: a, url: http://y }\n',
      '4:17 spec.mcp.servers[1].name | the name "a" is already used by spec.mcp.servers[0] on line 14',
    ],
    [
      'services, by name or type',
      '  requires:\n    services:\n      - type: redis\n      - name: redis\n',
      '4:15 spec.requires.services[1].name | the name "redis" is already used by spec.requires.services[0] on line 14',
    ],
    [
      'datasets',
      '  evaluation:\n    datasets:\n      - { name: a, path: x }\n      - { name: a, path: y }\n',
      '4:17 spec.evaluation.datasets[1].name | the name "a" is already used by spec.evaluation.datasets[0] on line 14',
    ],
    [
      'variables',
      '  prompts:\n    variables:\n      - { name: a, value: x }\n      - { name: a, value: y }\n',
      '4:17 spec.prompts.variables[1].name | the name "a" is already used by spec.prompts.variables[0] on line 14',
    ],
    [
      'subagents',
      '  subagents:\n    - { name: a, ref: { manifest: x } }\n    - { name: a, ref: { manifest: y } }\n',
      '3:15 spec.subagents[1].name | the name "a" is already used by spec.subagents[0] on line 13',
    ],
    [
      'skills',
      '  skills:\n    - id: a\n    - id: a\n',
      '3:11 spec.skills[1].id | the name "a" is already used by spec.skills[0] on line 13',
    ],
  ])('two %s with one name', (_what, spec, expected) => {
    expect(problemsOfSpec(spec)).toEqual([expected]);
  });

  test.each<[string, string]>([
    ['"$env:"', 'the reference $env: names no variable'],
    [
      '$env:MY-VAR',
      '"MY-VAR" is no name of an environment variable: letters, digits and _, no digit first => $env:MY_VAR',
    ],
    ['$env:3X', '"3X" is no name of an environment variable: letters, digits and _, no digit first'],
    ['"$file:"', 'the reference $file: names no file'],
    ['$file:../x', 'the file "../x" is outside the manifest\'s folder'],
    ['$file:a/../../x', 'the file "a/../../x" is outside the manifest\'s folder'],
    ["'$file:..\\x'", 'the file "..\\\\x" is outside the manifest\'s folder'],
    ['$file:/etc/passwd', 'the file "/etc/passwd" must be given relative to the manifest\'s folder'],
    ["'$file:C:\\x'", 'the file "C:\\\\x" must be given relative to the manifest\'s folder'],
    ['$file:./', '"./" is a folder, not a file'],
    ['"$file:a\\nb"', 'a file name is one line of text'],
    ['"$secret:"', 'the reference $secret: names no secret'],
    ['$secret:../key', '"../key" is no name of a secret: letters, digits, ".", "_" and "-" between them'],
    ['$func:now', 'there is no function "now"; use now_iso, now_unix or now_date'],
    ['$func:now_is', 'there is no function "now_is"; use now_iso, now_unix or now_date => $func:now_iso'],
    ['$foo:bar', '"$foo:" is no kind of reference; use $env:, $file:, $secret: or $func:'],
    ['$ENV:KEY', '"$ENV:" is no kind of reference; use $env:, $file:, $secret: or $func: => $env:KEY'],
    [
      '$secrets:key',
      '"$secrets:" is no kind of reference; use $env:, $file:, $secret: or $func: => $secret:key',
    ],
  ])('the reference %s', (reference, message) => {
    expect(problemsOfSpec(`  prompts: { system: ${reference} }\n`)).toEqual([
      `1:22 spec.prompts.system | ${message}`,
    ]);
    // In a value with a format the reference's own problem speaks, not the format's.
    expect(problemsOfSpec(`  api: { url: ${reference} }\n`)).toEqual([`1:15 spec.api.url | ${message}`]);
  });
});

describe('broken YAML', () => {
  test.each<[string, string, string[]]>([
    ['a tab', '  tools:\n\t- name: a\n', ['2:1  | YAML: a tab cannot indent; use spaces']],
    [
      'a colon in a value without quotes',
      '  prompts:\n    system: Note: be kind\n',
      [
        '2:13  | YAML: a value without quotes cannot contain ": ", and no deeper keys can follow it: put it in quotes or correct the indentation',
      ],
    ],
    [
      'a reference without a name and without quotes',
      '  prompts:\n    system: $env:\n    fallback: x\n',
      ['2:13  | YAML: a reference has a name after its colon, such as $env:API_KEY'],
    ],
    [
      'a quote that is never closed',
      '  prompts:\n    system: "hello\n    fallback: x\n',
      ['2:13  | YAML: a quote that opens here is never closed'],
    ],
    [
      'a list in brackets that is never closed',
      '  skills: [\n  tools: []\n',
      ['2:3  | YAML: a list that begins with [ must end with ] before the next key'],
    ],
    [
      'a key at a wrong column',
      '  prompts:\n    system: a\n   fallback: b\n',
      ['3:1  | YAML: is not indented like the lines that it belongs to'],
    ],
    [
      'no space after a colon',
      '  prompts:\n    system:hello\n    fallback: a\n',
      ['2:5  | YAML: a key and its ":" must be on one line; is a space missing after a colon?'],
    ],
    [
      'a character that cannot begin a value',
      '  prompts: { system: @me }\n',
      ['1:22  | YAML: a value that begins with this character must be in quotes'],
    ],
    ['a wrong escape', '  prompts: { system: "\\q" }\n', ['1:23  | YAML: invalid escape sequence \\q']],
    ['a tag', '  prompts: { system: !vault x }\n', ['1:22  | YAML: unresolved tag: !vault']],
    [
      'text after a value that is complete',
      "  prompts: { system: 'it's' }\n  tools: []\n",
      ['1:26  | YAML: this does not belong here: what stands before it is complete'],
    ],
    [
      'two mistakes on two lines',
      '  prompts:\n    system: Note: a\n    fallback: Note: b\n',
      [2, 3].map(
        (line) =>
          `${line}:${line === 2 ? 13 : 15}  | YAML: a value without quotes cannot contain ": ", and no deeper keys can follow it: put it in quotes or correct the indentation`,
      ),
    ],
  ])('%s', (_what, spec, expected) => {
    expect(problemsOfSpec(spec)).toEqual(expected);
  });
});

test('all problems come at once, in the order of the file, one for each mistake', () => {
  const spec = `  model2: {}
  tools:
    - name: a
      type: funtion
    - name: a
      annotations: { destructiveHint: yes }
  api: { type: grpc, port: 0 }
  prompts:
    system: $file:../x
`;
  expect(problemsOfSpec(spec).map((line) => line.split(' | ')[0])).toEqual([
    '1:3 spec.model2',
    '4:13 spec.tools[0].type',
    '5:13 spec.tools[1].name',
    '6:39 spec.tools[1].annotations.destructiveHint',
    '7:16 spec.api.type',
    '7:28 spec.api.port',
    '9:13 spec.prompts.system',
  ]);
});

describe('hostile text', () => {
  test('aliases that multiply are refused', () => {
    const levels = Array.from(
      { length: 12 },
      (_, n) => `  x-${n}: &a${n} [${`*a${n - 1}, `.repeat(n === 0 ? 0 : 10)}1]\n`,
    );
    expect(problemsOfSpec(levels.join('')).map((line) => line.split(' | ')[1])).toEqual([
      'has more than 100000 values once its aliases are expanded',
    ]);
  });

  test('nesting that is too deep is refused, in brackets and by aliases', () => {
    const brackets = `  x-a: ${'['.repeat(100)}${']'.repeat(100)}\n`;
    expect(problemsOfSpec(brackets)).toEqual(['1:71  | is nested deeper than 64 levels']);
    const aliases = Array.from(
      { length: 80 },
      (_, n) => `  x-${n}: &a${n} ${n === 0 ? '1' : `[*a${n - 1}]`}\n`,
    );
    expect(problemsOfSpec(aliases.join('')).map((line) => line.split(' | ')[1])).toEqual([
      'is nested deeper than 64 levels',
    ]);
    expect(problemsOfSpec(`  x-a: ${'['.repeat(50_000)}`).map((line) => line.split(' | ')[1])).toEqual([
      'YAML: is nested too deeply',
    ]);
  });

  test('a file full of keys takes no quadratic time, and its problems are cut', () => {
    const keys = (count: number) => Array.from({ length: count }, (_, n) => `  key${n}: 1\n`).join('');
    const costOf = (work: () => void): number => {
      const started = process.threadCpuUsage();
      work();
      return process.threadCpuUsage(started).user;
    };
    const [few, many] = [manifestText(keys(3_000)), manifestText(keys(30_000))];
    const tenFiles = costOf(() => {
      for (let file = 0; file < 10; file += 1) problemsOf(few);
    });
    let problems: ManifestProblem[] = [];
    const oneFile = costOf(() => (problems = problemsOf(many)));
    // Both have the same number of keys and need the same processor time, whatever the speed of the machine. With a
    // comparison of each key with all others, the one file needs six times as much.
    expect(oneFile / tenFiles).toBeLessThan(3);
    expect(problems).toHaveLength(501);
    expect(problems.at(-1)?.message).toBe('and 29500 more problems');
  });

  test('any text gives a result', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: anyCharacter() }), fc.string(), yamlSoup()), (text) => {
        const parsed = parseManifest(text);
        expect(parsed.ok).toBe(false);
        if (!parsed.ok) expectPlaces(parsed.problems, text);
      }),
      { numRuns: 300 },
    );
  });

  test('a manifest with one value replaced by anything gives a result, and is only accepted when it survives a second reading', () => {
    const values = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('$env:', '$foo:x', '$file:../x', null, [], {}, -1, 1.5, ''),
    );
    const full = JSON.stringify(parse(FULL_MANIFEST));
    fc.assert(
      fc.property(fc.nat(), values, (where, value) => {
        const document: unknown = JSON.parse(full);
        const places = placesIn(document);
        const place = places[where % places.length]!;
        place.holder[place.key] = value;
        const text = stringify(document);
        const parsed = parseManifest(text);
        if (parsed.ok) expect(parseManifest(stringify(parsed.manifest))).toEqual(parsed);
        else expectPlaces(parsed.problems, text);
      }),
      { numRuns: runs(300) },
    );
  });

  test('a manifest with a piece cut out, doubled or replaced gives a result', () => {
    fc.assert(
      fc.property(fc.nat(FULL_MANIFEST.length), fc.nat(40), yamlSoup(), (start, length, soup) => {
        const text = FULL_MANIFEST.slice(0, start) + soup + FULL_MANIFEST.slice(start + length);
        const parsed = parseManifest(text);
        if (!parsed.ok) expectPlaces(parsed.problems, text);
      }),
      { numRuns: runs(300) },
    );
  });
});

const yamlSoup = (): fc.Arbitrary<string> =>
  fc
    .array(
      fc.constantFrom(
        'a',
        ': ',
        ':',
        '- ',
        '\n',
        '  ',
        '\t',
        '"',
        "'",
        '[',
        ']',
        '{',
        '}',
        ',',
        '&a ',
        '*a',
        '!t ',
        '|\n',
        '>-\n',
        '? ',
        '# ',
        '---\n',
        '%',
        '$env:',
        '0x1',
        '~',
        '<<',
        '\r',
        '\u0000',
        '\ud800',
      ),
    )
    .map((pieces) => pieces.join(''));

interface Slot {
  holder: Record<string | number, unknown>;
  key: string | number;
}

function placesIn(value: unknown): Slot[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...placesIn(holder[key])]);
}

/** Every problem says something and points into the text. */
function expectPlaces(problems: readonly ManifestProblem[], text: string): void {
  expect(problems.length).toBeGreaterThan(0);
  const lines = text.split('\n');
  const isWrong = ({ line, column, message }: ManifestProblem): boolean =>
    message === '' ||
    !(line >= 1 && line <= lines.length) ||
    !(column >= 1 && column <= (lines[line - 1] ?? '').length + 1);
  expect(problems.filter(isWrong)).toEqual([]);
}
