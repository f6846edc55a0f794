import { describe, expect, test } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { FULL_MANIFEST, manifestText } from '../../testing/manifests/manifest-text.ts';
import fc, { anyCharacter, runs } from '../../testing/random/properties.ts';
import type { ManifestProblem } from './manifest.ts';
import { parseManifest } from './parse-manifest.ts';
import { MANIFEST_SCHEMA } from './schema.ts';
import type { SchemaNode } from './schema-node.ts';

const LINES_BEFORE_SPEC = 11;

function problemsOf(text: string): ManifestProblem[] {
  const parsed = parseManifest(text);
  return parsed.ok ? [] : parsed.problems;
}

/** A problem in short form: `line:column path | message => suggestion`. */
const brief = ({ line, column, path, message, suggestion }: ManifestProblem): string =>
  `${line}:${column} ${path} | ${message}${suggestion === undefined ? '' : ` => ${suggestion}`}`;

/** Line numbers in the tables below start with 1 at the first line of `spec`. */
function problemsOfSpec(spec: string): string[] {
  return problemsOf(manifestText(spec))
    .map((problem) => ({ ...problem, line: problem.line - LINES_BEFORE_SPEC }))
    .map(brief);
}

/** The minimal manifest with one line replaced or removed. */
const withLine = (line: string, replacement: string): string =>
  manifestText().replace(`${line}\n`, replacement);

describe('a valid manifest', () => {
  test('is returned as written, with unresolved references and without defaults', () => {
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
    expect(unusedKeys(MANIFEST_SCHEMA, parse(FULL_MANIFEST), '')).toEqual([]);
  });

  test.each([
    ['references as values with a format', '  api: { url: $env:PUBLIC_URL, pathPrefix: "$env:PREFIX" }\n'],
    ['references as addresses', '  requires:\n    services: [{ type: redis, address: $env:REDIS }]\n'],
    [
      'references as dates',
      '  compliance:\n    suppressions: [{ rule: R, reason: x, expires: $func:now_date }]\n',
    ],
    ['IPv6 addresses', '  requires:\n    services: [{ type: redis, address: "[::1]:6379" }]\n'],
    [
      'several services of the same type with different names',
      '  requires:\n    services: [{ type: redis }, { name: b, type: redis }]\n',
    ],
    [
      'several guardrails of the same type',
      '  guardrails: { input: [{ type: custom }, { type: custom }] }\n',
    ],
    ['a file in a subdirectory', '  prompts: { system: "$file:a/../b/c.md" }\n'],
    ['a dollar sign that does not begin a reference', '  prompts: { system: "$100: what a price" }\n'],
    ['anything under an x- key', '  x-any: { tools: 3, deep: [$foo:bar], "odd key": { a: 1 } }\n'],
    ['anchors and aliases', '  x-note: &note hello\n  prompts: { system: *note, fallback: *note }\n'],
    ['empty lists', '  tools: []\n  skills: []\n'],
    ['a blank description of a tool', '  tools: [{ name: a, description: "" }]\n'],
    ['a number under an x- key', '  x-y: 1\n'],
  ])('accepts %s', (_what, spec) => {
    expect(problemsOfSpec(spec)).toEqual([]);
  });

  test('accepts a reference as its version', () => {
    expect(problemsOf(withLine('  version: 1.0.0', '  version: $env:VERSION\n'))).toEqual([]);
  });

  test('may have a byte order mark, Windows line endings and a document marker', () => {
    const text = `\ufeff---\n${manifestText()}...\n`.replaceAll('\n', '\r\n');
    expect(problemsOf(text)).toEqual([]);
  });

  test('does not change the prototype with a key __proto__ under an x- key', () => {
    const parsed = parseManifest(manifestText('  x-a: { __proto__: { polluted: true } }\n'));
    expect(parsed.ok).toBe(true);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

/** Keys of the schema that a value does not use. In a list, a key is used if at least one item uses it. */
function unusedKeys(node: SchemaNode, value: unknown, path: string): string[] {
  if (node.items !== undefined) {
    const [first = [path], ...others] = (value as unknown[]).map((item) =>
      unusedKeys(node.items!, item, `${path}[]`),
    );
    return first.filter((key) => others.every((unused) => unused.some((each) => key.startsWith(each))));
  }
  return Object.entries(node.properties ?? {}).flatMap(([key, child]) => {
    const inner = (value as Record<string, unknown>)[key];
    return inner === undefined ? [`${path}.${key}`] : unusedKeys(child, inner, `${path}.${key}`);
  });
}

describe('a document that is not a manifest', () => {
  const EMPTY = 'file is empty; apiVersion, kind, metadata and spec are required';
  test.each<[string, string | string[]]>([
    ['', `1:1  | ${EMPTY}`],
    ['# hello\n', `1:1  | ${EMPTY}`],
    ['- a\n', '1:1  | must be an object with apiVersion, kind, metadata and spec; got a list'],
    ['hello', '1:1  | must be an object with apiVersion, kind, metadata and spec; got plain text'],
    [
      `${manifestText()}---\na: 1\n`,
      '12:1  | YAML: a second document begins here; a manifest must be a single document',
    ],
    [
      'apiVersion: platform.io/v1alpha1\nkind: PlatformAgent\nspec: { old: true }\n',
      '1:13 apiVersion | "platform.io/v1alpha1" is an older manifest version; convert it with "platform migrate"',
    ],
    [
      'kind: AgentSpec\napiVersion: agentspec.io/v1\n',
      '2:13 apiVersion | "agentspec.io/v1" is an agentspec manifest; convert it with "platform migrate"',
    ],
    [
      'apiVersion: agentspec/v1alpha1\nkind: AgentSpec\n',
      '1:13 apiVersion | "agentspec/v1alpha1" is an agentspec manifest; convert it with "platform migrate"',
    ],
    [
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: { labels: {} }\n',
      '1:1 apiVersion | not an agent manifest; expected apiVersion platform.io/v1 and kind PlatformAgent, got "apps/v1 Deployment"',
    ],
    [
      'a: 1\n',
      [
        '1:1 apiVersion | the key "apiVersion" is missing',
        '1:1 kind | the key "kind" is missing',
        '1:1 metadata | the key "metadata" is missing',
        '1:1 spec | the key "spec" is missing',
        '1:1 a | unknown key "a"; valid keys: apiVersion, kind, metadata, spec',
      ],
    ],
  ])('is rejected: %j', (text, expected) => {
    expect(problemsOf(text).map(brief)).toEqual([expected].flat());
  });

  test('is rejected if it is larger than 1 MiB, counted in bytes', () => {
    const tooLarge = ['1:1  | exceeds the maximum manifest size of 1 MiB'];
    const room = 1024 * 1024 - manifestText().length - 2;
    expect(problemsOf(`${manifestText()}# ${'x'.repeat(room)}`)).toEqual([]);
    expect(problemsOf(`${manifestText()}# ${'x'.repeat(room + 1)}`).map(brief)).toEqual(tooLarge);
    expect(problemsOf(`${manifestText()}# ${'ü'.repeat(room / 2 + 1)}`).map(brief)).toEqual(tooLarge);
  });
});

describe('a mistake at the start of a manifest', () => {
  test.each<[string, string, string | string[]]>([
    [
      'apiVersion: platform.io/v1',
      'apiVersion: platform.io/v2\n',
      '1:13 apiVersion | must be "platform.io/v1"; got "platform.io/v2" => platform.io/v1',
    ],
    [
      'kind: PlatformAgent',
      'kind: platformagent\n',
      '2:7 kind | must be "PlatformAgent"; got "platformagent" => PlatformAgent',
    ],
    ['kind: PlatformAgent', '', '1:1 kind | the key "kind" is missing'],
    ['kind: PlatformAgent', 'Kind: PlatformAgent\n', '2:1 Kind | unknown key "Kind" => kind'],
    [
      '  name: minimal',
      '  name: My_Agent\n',
      '4:9 metadata.name | must be a DNS label (1 to 63 lower-case letters, digits and hyphens, no hyphen at either end); got "My_Agent" => my-agent',
    ],
    [
      '  name: minimal',
      '  name: $env:AGENT\n',
      '4:9 metadata.name | must be a DNS label (1 to 63 lower-case letters, digits and hyphens, no hyphen at either end); got "$env:AGENT"',
    ],
    [
      '  name: minimal',
      `  name: ${'a'.repeat(64)}\n`,
      `4:9 metadata.name | must be a DNS label (1 to 63 lower-case letters, digits and hyphens, no hyphen at either end); got "${'a'.repeat(60)}…"`,
    ],
    [
      '  version: 1.0.0',
      '  version: 1.0\n',
      '5:12 metadata.version | must be a semantic version such as 1.2.3; got the number 1.0 => 1.0.0',
    ],
    [
      '  version: 1.0.0',
      '  version: v1.2.3\n',
      '5:12 metadata.version | must be a semantic version such as 1.2.3; got "v1.2.3" => 1.2.3',
    ],
    [
      '  version: 1.0.0',
      '  version: latest\n',
      '5:12 metadata.version | must be a semantic version such as 1.2.3; got "latest"',
    ],
    [
      '  description: The least that is a manifest.',
      '  description:\n',
      '6:3 metadata.description | must be a string; got an empty value',
    ],
    [
      '  description: The least that is a manifest.',
      '',
      '3:1 metadata.description | the key "description" is missing',
    ],
    [
      '    apiKey: $env:OPENAI_API_KEY',
      '    apikey: $env:OPENAI_API_KEY\n',
      '11:5 spec.model.apikey | unknown key "apikey" => apiKey',
    ],
    [
      '    apiKey: $env:OPENAI_API_KEY',
      '    apiKey: 12345\n',
      '11:13 spec.model.apiKey | must be a string; got a number',
    ],
    ['    id: gpt-4.1', '    id: ""\n', '10:9 spec.model.id | must not be empty'],
    [
      '    id: gpt-4.1',
      '    id: 4.10\n',
      '10:9 spec.model.id | must be a string; got the number 4.10 => "4.10"',
    ],
  ])('reports the replacement of %s by %j', (line, replacement, expected) => {
    expect(problemsOf(withLine(line, replacement)).map(brief)).toEqual([expected].flat());
  });
});

describe('a mistake under spec', () => {
  test.each<[string, string | string[]]>([
    ['  tols: []\n', '1:3 spec.tols | unknown key "tols" => tools'],
    [
      '  evaluation: { bananas: 1 }\n',
      '1:17 spec.evaluation.bananas | unknown key "bananas"; valid keys: framework, datasets, metrics, thresholds, ciGate, external',
    ],
    [
      '  temperature: 1\n',
      '1:3 spec.temperature | unknown key "temperature" => spec.model.parameters.temperature',
    ],
    [
      '  prompts: { apiVersion: platform.io/v1 }\n',
      '1:14 spec.prompts.apiVersion | unknown key "apiVersion" => apiVersion',
    ],
    [
      '  x-base: &base { system: a }\n  prompts: { <<: *base }\n',
      '2:14 spec.prompts["<<"] | merge keys ("<<") are not part of YAML 1.2; write out the merged keys',
    ],
    ['  tools: []\n  tools: []\n', '2:3 spec.tools | duplicate key "tools"; first used on line 12'],
    ['  prompts: { [a]: b }\n', '1:14 spec.prompts | a key must be a string'],
    ['  tools: { name: a }\n', '1:10 spec.tools | must be a list; got an object'],
    ['  tools: a\n', '1:10 spec.tools | must be a list; got "a"'],
    ['  memory:\n', '1:3 spec.memory | must be an object; got an empty value'],
    ['  tools:\n    -\n', '2:6 spec.tools[0] | must be an object; got an empty value'],
    [
      '  prompts: { hotReload: yes }\n',
      '1:25 spec.prompts.hotReload | must be true or false; got "yes" => true',
    ],
    [
      '  api: { port: "8000" }\n',
      '1:16 spec.api.port | must be an integer from 1 to 65535; got "8000" => 8000',
    ],
    [
      '  api: { port: $env:PORT }\n',
      '1:16 spec.api.port | must be an integer from 1 to 65535; got "$env:PORT"',
    ],
    [
      '  api: { port: 80.5 }\n',
      '1:16 spec.api.port | must be an integer from 1 to 65535; got the number 80.5',
    ],
    [
      '  guardrails: { output: [{ type: toxicity-filter, threshold: 70 }] }\n',
      '1:62 spec.guardrails.output[0].threshold | must be a number from 0 to 1; got the number 70',
    ],
    [
      '  evaluation: { thresholds: { pass_rate: .nan } }\n',
      '1:42 spec.evaluation.thresholds.pass_rate | must be a number from 0 to 1; got the number .nan',
    ],
    [
      '  requires: { pythonVersion: 3.10 }\n',
      '1:30 spec.requires.pythonVersion | must be a string; got the number 3.10 => "3.10"',
    ],
    [
      '  guardrails: { input: [{ type: pii-detecter }] }\n',
      '1:33 spec.guardrails.input[0].type | must be topic-filter, pii-detector, prompt-injection, hallucination-detector, toxicity-filter or custom; got "pii-detecter" => pii-detector',
    ],
    [
      '  tools: [{ name: a, type: banana }]\n',
      '1:28 spec.tools[0].type | must be function, mcp or builtin; got "banana"',
    ],
    [
      '  tools: [{ name: a, type: $env:T }]\n',
      '1:28 spec.tools[0].type | must be function, mcp or builtin; got "$env:T"',
    ],
    [
      '  api: { type: grpc }\n',
      '1:16 spec.api.type | grpc is not supported, because the sidecar is an HTTP/1.1 proxy; use rest, mcp or websocket',
    ],
    [
      '  api: { healthEndpoint: health }\n',
      '1:26 spec.api.healthEndpoint | must be a path that begins with /; got "health" => /health',
    ],
    [
      '  api: { a2a: { protocolBinding: JSONRPC } }\n',
      '1:3 spec.api | an A2A interface needs "url", the address that its clients use',
    ],
    [
      '  api: { url: https://shop.example, a2a: { protocolBinding: GRPC } }\n',
      '1:61 spec.api.a2a.protocolBinding | GRPC is not supported, because the sidecar is an HTTP/1.1 proxy; use JSONRPC or HTTP+JSON',
    ],
    [
      '  api: { url: https://shop.example, a2a: { protocolBinding: jsonrpc, path: a2a, protocolVersion: 1.0 } }\n',
      [
        '1:61 spec.api.a2a.protocolBinding | must be JSONRPC or HTTP+JSON; got "jsonrpc" => JSONRPC',
        '1:76 spec.api.a2a.path | must be a path that begins with /; got "a2a" => /a2a',
        '1:98 spec.api.a2a.protocolVersion | must be 1.0 or 0.3; got the number 1.0 => 1.0',
      ],
    ],
    [
      '  api: { url: https://shop.example, a2a: {} }\n',
      '1:37 spec.api.a2a.protocolBinding | the key "protocolBinding" is missing',
    ],
    [
      '  api: { capabilitiesEndpoint: http://shop/tools }\n',
      '1:32 spec.api.capabilitiesEndpoint | must be a path that begins with /; got "http://shop/tools" => /http://shop/tools',
    ],
    [
      '  humanInTheLoop: { webhookUrl: example.com/hook }\n',
      '1:33 spec.humanInTheLoop.webhookUrl | must be a URL that begins with http:// or https://; got "example.com/hook" => https://example.com/hook',
    ],
    [
      '  compliance:\n    suppressions: [{ rule: R, reason: x, expires: 31.1.2027 }]\n',
      '2:51 spec.compliance.suppressions[0].expires | must be an ISO 8601 date such as 2027-01-31, or 2027-01-31T12:00:00Z; got "31.1.2027"',
    ],
    [
      '  requires:\n    services:\n      - { type: redis, address: redis }\n      - { type: kafka, address: kafka:99999 }\n',
      [
        '3:33 spec.requires.services[0].address | must be host:port (port 1 to 65535) or a connection URL such as redis://cache:6379; got "redis"',
        '4:33 spec.requires.services[1].address | must be host:port (port 1 to 65535) or a connection URL such as redis://cache:6379; got "kafka:99999"',
      ],
    ],
    [
      '  requires:\n    services: [{ type: pg, address: "postgres:/me:s3cret@db" }]\n',
      '2:37 spec.requires.services[0].address | must be host:port (port 1 to 65535) or a connection URL such as redis://cache:6379; got "postgres:/me:***@db"',
    ],
    [
      '  api: { url: "me:s3cret@example.com" }\n',
      '1:15 spec.api.url | must be a URL that begins with http://, https://, ws:// or wss://; got "me:***@example.com"',
    ],
    [
      '  requires:\n    services:\n      - address: redis:6379\n',
      '3:9 spec.requires.services[0] | a service needs "name" or "type"',
    ],
    [
      '  requires: { envVars: [$env:FOO, "${BAR}", a-b, 3x] }\n',
      [
        ['1:25 spec.requires.envVars[0]', '"$env:FOO" => FOO'],
        ['1:35 spec.requires.envVars[1]', '"${BAR}" => BAR'],
        ['1:45 spec.requires.envVars[2]', '"a-b" => a_b'],
        ['1:50 spec.requires.envVars[3]', '"3x"'],
      ].map(
        ([where, what]) =>
          `${where} | must be an environment variable name (letters, digits and _, not starting with a digit); got ${what}`,
      ),
    ],
    [
      '  mcp:\n    servers:\n      - name: a\n        transport: sse\n        host: x\n',
      '3:9 spec.mcp.servers[0] | an sse or http server needs "url", or "host" and "port"',
    ],
    [
      '  mcp:\n    servers:\n      - { name: a, transport: stdio, url: "http://x" }\n',
      '3:9 spec.mcp.servers[0] | a stdio server needs "command"',
    ],
    [
      '  mcp:\n    servers:\n      - name: a\n',
      '3:9 spec.mcp.servers[0] | a server needs "url", or "host" and "port", or "command"',
    ],
    [
      '  subagents:\n    - { name: a, ref: { manifest: a.yaml, a2a: { url: "http://a" } } }\n    - { name: b, ref: {} }\n',
      [
        '2:18 spec.subagents[0].ref | needs exactly one of "manifest" and "a2a"',
        '3:18 spec.subagents[1].ref | needs exactly one of "manifest" and "a2a"',
      ],
    ],
    [
      '  compliance: { packs: [memory-hygine] }\n',
      '1:25 spec.compliance.packs[0] | must be owasp-llm-top10, model-resilience, memory-hygiene, evaluation-coverage, observability or metadata-quality; got "memory-hygine" => memory-hygiene',
    ],
    ['  skills:\n    - version: 1.0.0\n', '2:7 spec.skills[0].id | the key "id" is missing'],
    [
      '  prompts: { system: *nowhere }\n',
      '1:22 spec.prompts.system | the alias "*nowhere" has no anchor above it',
    ],
    ['  x-a: &a [*a]\n', '1:12 spec.x-a[0] | the alias "*a" refers to a value that contains it'],
  ])('reports %j', (spec, expected) => {
    expect(problemsOfSpec(spec)).toEqual([expected].flat());
  });

  test.each<[string, string]>([
    [
      '  tools:\n    - name: a\n    - name: a\n',
      '3:13 spec.tools[1].name | the name "a" is already used by spec.tools[0] on line 13',
    ],
    [
      '  mcp:\n    servers:\n      - { name: a, url: http://x }\n      - { name: a, url: http://y }\n',
      '4:17 spec.mcp.servers[1].name | the name "a" is already used by spec.mcp.servers[0] on line 14',
    ],
    [
      '  requires:\n    services:\n      - type: redis\n      - name: redis\n',
      '4:15 spec.requires.services[1].name | the name "redis" is already used by spec.requires.services[0] on line 14',
    ],
    [
      '  evaluation:\n    datasets:\n      - { name: a, path: x }\n      - { name: a, path: y }\n',
      '4:17 spec.evaluation.datasets[1].name | the name "a" is already used by spec.evaluation.datasets[0] on line 14',
    ],
    [
      '  prompts:\n    variables:\n      - { name: a, value: x }\n      - { name: a, value: y }\n',
      '4:17 spec.prompts.variables[1].name | the name "a" is already used by spec.prompts.variables[0] on line 14',
    ],
    [
      '  subagents:\n    - { name: a, ref: { manifest: x } }\n    - { name: a, ref: { manifest: y } }\n',
      '3:15 spec.subagents[1].name | the name "a" is already used by spec.subagents[0] on line 13',
    ],
    [
      '  skills:\n    - id: a\n    - id: a\n',
      '3:11 spec.skills[1].id | the name "a" is already used by spec.skills[0] on line 13',
    ],
  ])('reports a repeated name in %j', (spec, expected) => {
    expect(problemsOfSpec(spec)).toEqual([expected]);
  });

  test.each<[string, string]>([
    ['"$env:"', 'the reference $env: has no variable name'],
    [
      '$env:MY-VAR',
      '"MY-VAR" is not a valid environment variable name; use letters, digits and _, not starting with a digit => $env:MY_VAR',
    ],
    [
      '$env:3X',
      '"3X" is not a valid environment variable name; use letters, digits and _, not starting with a digit',
    ],
    ['"$file:"', 'the reference $file: has no file name'],
    ['$file:../x', 'the file "../x" is outside the manifest\'s directory'],
    ['$file:a/../../x', 'the file "a/../../x" is outside the manifest\'s directory'],
    ["'$file:..\\x'", 'the file "..\\\\x" is outside the manifest\'s directory'],
    ['$file:/etc/passwd', 'the file path "/etc/passwd" must be relative to the manifest\'s directory'],
    ["'$file:C:\\x'", 'the file path "C:\\\\x" must be relative to the manifest\'s directory'],
    ['$file:./', '"./" is a directory, not a file'],
    ['"$file:a\\nb"', 'a file name must be a single line'],
    ['"$secret:"', 'the reference $secret: has no secret name'],
    [
      '$secret:../key',
      '"../key" is not a valid secret name; use letters, digits, ".", "_" and "-", starting and ending with a letter or digit',
    ],
    ['$func:now', 'unknown function "now"; use now_iso, now_unix or now_date'],
    ['$func:now_is', 'unknown function "now_is"; use now_iso, now_unix or now_date => $func:now_iso'],
    ['$foo:bar', '"$foo:" is not a valid reference prefix; use $env:, $file:, $secret: or $func:'],
    [
      '$ENV:KEY',
      '"$ENV:" is not a valid reference prefix; use $env:, $file:, $secret: or $func: => $env:KEY',
    ],
    [
      '$secrets:key',
      '"$secrets:" is not a valid reference prefix; use $env:, $file:, $secret: or $func: => $secret:key',
    ],
  ])('reports the invalid reference %s', (reference, message) => {
    expect(problemsOfSpec(`  prompts: { system: ${reference} }\n`)).toEqual([
      `1:22 spec.prompts.system | ${message}`,
    ]);
    // In a value with a format, only the problem of the reference is reported.
    expect(problemsOfSpec(`  api: { url: ${reference} }\n`)).toEqual([`1:15 spec.api.url | ${message}`]);
  });
});

describe('invalid YAML', () => {
  test.each<[string, string | string[]]>([
    ['  tools:\n\t- name: a\n', '2:1  | YAML: tabs are not allowed as indentation; use spaces'],
    [
      '  prompts:\n    system: Note: be kind\n',
      '2:13  | YAML: an unquoted value must not contain ": " or be followed by nested keys; quote the value or correct the indentation',
    ],
    [
      '  prompts:\n    system: $env:\n    fallback: x\n',
      '2:13  | YAML: a reference needs a name after its colon, such as $env:API_KEY',
    ],
    [
      '  prompts:\n    system: "hello\n    fallback: x\n',
      '2:13  | YAML: the quote that opens here is never closed',
    ],
    [
      '  skills: [\n  tools: []\n',
      '2:3  | YAML: a list that begins with [ must end with ] before the next key',
    ],
    [
      '  prompts:\n    system: a\n   fallback: b\n',
      '3:1  | YAML: the indentation differs from the other lines of the same block',
    ],
    [
      '  prompts:\n    system:hello\n    fallback: a\n',
      '2:5  | YAML: a key and its ":" must be on one line; check for a missing space after a colon',
    ],
    ['  prompts: { system: @me }\n', '1:22  | YAML: a value that begins with this character must be quoted'],
    ['  prompts: { system: "\\q" }\n', '1:23  | YAML: invalid escape sequence \\q'],
    ['  prompts: { system: !vault x }\n', '1:22  | YAML: unresolved tag: !vault'],
    [
      "  prompts: { system: 'it's' }\n  tools: []\n",
      '1:26  | YAML: unexpected content after a complete value',
    ],
    [
      '  prompts:\n    system: Note: a\n    fallback: Note: b\n',
      [2, 3].map(
        (line) =>
          `${line}:${line === 2 ? 13 : 15}  | YAML: an unquoted value must not contain ": " or be followed by nested keys; quote the value or correct the indentation`,
      ),
    ],
  ])('reports %j', (spec, expected) => {
    expect(problemsOfSpec(spec)).toEqual([expected].flat());
  });
});

test('reports all problems at once, in the order of the file, one per mistake', () => {
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
  test('aliases that expand to too many values are rejected', () => {
    const levels = Array.from(
      { length: 12 },
      (_, n) => `  x-${n}: &a${n} [${`*a${n - 1}, `.repeat(n === 0 ? 0 : 10)}1]\n`,
    );
    expect(problemsOfSpec(levels.join('')).map((line) => line.split(' | ')[1])).toEqual([
      'the document has more than 100000 values after alias expansion',
    ]);
  });

  test.each([
    ['of a text', '"'],
    ['of a list with a text', '["'],
    ['of an object with a key', '{"'],
  ])('aliases %s that expand to too many characters are rejected', (_, open) => {
    const close = { '"': '"', '["': '"]', '{"': '": 1}' }[open];
    const spec = `  x-a: &a ${open}${'x'.repeat(50_000)}${close}\n  x-b: [${Array(30).fill('*a').join(', ')}]\n`;
    expect(problemsOfSpec(spec).map((line) => line.split(' | ')[1])).toEqual([
      'the document has more than 1048576 characters after alias expansion',
    ]);
  });

  test('nesting that is too deep is rejected, with brackets and with aliases', () => {
    const brackets = `  x-a: ${'['.repeat(100)}${']'.repeat(100)}\n`;
    expect(problemsOfSpec(brackets)).toEqual(['1:71  | the document is nested deeper than 64 levels']);
    const aliases = Array.from(
      { length: 80 },
      (_, n) => `  x-${n}: &a${n} ${n === 0 ? '1' : `[*a${n - 1}]`}\n`,
    );
    expect(problemsOfSpec(aliases.join('')).map((line) => line.split(' | ')[1])).toEqual([
      'the document is nested deeper than 64 levels',
    ]);
    expect(problemsOfSpec(`  x-a: ${'['.repeat(50_000)}`).map((line) => line.split(' | ')[1])).toEqual([
      'YAML: the document is nested too deeply',
    ]);
  });

  test('a file with very many keys is parsed in less than quadratic time, and its list of problems is cut', () => {
    const keys = (count: number) => Array.from({ length: count }, (_, n) => `  key${n}: 1\n`).join('');
    const costOf = (work: () => void): number => {
      const started = process.threadCpuUsage();
      work();
      return process.threadCpuUsage(started).user;
    };
    const [few, many] = [manifestText(keys(1_500)), manifestText(keys(15_000))];
    const fiveFiles = costOf(() => {
      for (let file = 0; file < 5; file += 1) problemsOf(few);
    });
    let problems: ManifestProblem[] = [];
    const oneFile = costOf(() => (problems = problemsOf(many)));
    // The large file has twice as many keys as the five files and needs about twice their CPU time on any machine. If each
    // key were compared with all others, it would need twelve times as much.
    expect(oneFile / fiveFiles).toBeLessThan(6);
    expect(problems).toHaveLength(501);
    expect(problems.at(-1)?.message).toBe('and 14500 more problems');
  });

  test('parseManifest returns a result for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: anyCharacter() }), fc.string(), yamlSoup()), (text) => {
        const parsed = parseManifest(text);
        expect(parsed.ok).toBe(false);
        if (!parsed.ok) expectPlaces(parsed.problems, text);
      }),
      { numRuns: 120 },
    );
  });

  test('a manifest with one replaced value is either rejected or still accepted after a round trip', () => {
    const values = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('$env:', '$foo:x', '$file:../x', null, [], {}, -1, 1.5, ''),
    );
    const full = JSON.stringify(parse(FULL_MANIFEST));
    fc.assert(
      fc.property(fc.nat(), values, (position, value) => {
        const document: unknown = JSON.parse(full);
        const places = placesIn(document);
        const place = places[position % places.length]!;
        place.holder[place.key] = value;
        const text = stringify(document);
        const parsed = parseManifest(text);
        if (parsed.ok) expect(parseManifest(stringify(parsed.manifest))).toEqual(parsed);
        else expectPlaces(parsed.problems, text);
      }),
      { numRuns: runs(120) },
    );
  });

  test('parseManifest returns a result for a manifest with a piece removed or replaced', () => {
    fc.assert(
      fc.property(fc.nat(FULL_MANIFEST.length), fc.nat(40), yamlSoup(), (start, length, soup) => {
        const text = FULL_MANIFEST.slice(0, start) + soup + FULL_MANIFEST.slice(start + length);
        const parsed = parseManifest(text);
        if (!parsed.ok) expectPlaces(parsed.problems, text);
      }),
      { numRuns: runs(120) },
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

/** Every problem has a message and a position inside the text. */
function expectPlaces(problems: readonly ManifestProblem[], text: string): void {
  expect(problems.length).toBeGreaterThan(0);
  const lines = text.split('\n');
  const isWrong = ({ line, column, message }: ManifestProblem): boolean =>
    message === '' ||
    !(line >= 1 && line <= lines.length) ||
    !(column >= 1 && column <= (lines[line - 1] ?? '').length + 1);
  expect(problems.filter(isWrong)).toEqual([]);
}
