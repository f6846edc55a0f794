import { describe, expect, test } from '@jest/globals';
import { AgentCard } from '@a2a-js/sdk';
import { stringify } from 'yaml';
import { FULL_MANIFEST } from '../../testing/manifests/manifest-text.ts';
import fc, { anyCharacter, runs } from '../../testing/random/properties.ts';
import { cardOf } from '../../core/manifest/card.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { OPTIONAL_PARTS } from './draft.ts';
import { importManifest } from './import-manifest.ts';
import { kagentReferences } from './kagent-references.ts';

const CARD = {
  name: 'Recipe Agent',
  description: 'Finds recipes.',
  version: '1.2.0',
  supportedInterfaces: [
    { url: 'recipes.example:443', protocolBinding: 'GRPC', protocolVersion: '1.0' },
    { url: 'https://recipes.example/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ],
  provider: { organization: 'Kitchen', url: 'https://kitchen.example' },
  iconUrl: 'https://recipes.example/icon.png',
  capabilities: { streaming: true, pushNotifications: true },
  securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-Recipe-Key' } } },
  securityRequirements: [{ schemes: { key: { list: [] } } }],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [
    { id: 'find', name: 'Find', description: 'Finds a recipe', tags: ['cooking'] },
    { id: 'convert', name: 'Convert', description: 'Converts units', tags: [] },
  ],
};

const OLD_CARD = {
  protocolVersion: '0.3.0',
  name: 'geo',
  description: 'Finds places',
  url: 'https://geo.example/grpc',
  preferredTransport: 'GRPC',
  additionalInterfaces: [{ url: 'https://geo.example/v1', transport: 'HTTP+JSON' }],
  version: 'newest',
  capabilities: {},
  securitySchemes: {
    login: { type: 'oauth2', flows: {} },
    token: { type: 'http', scheme: 'Bearer', bearerFormat: 'jwt' },
  },
  defaultInputModes: ['text'],
  defaultOutputModes: ['text'],
  skills: [],
};

const SERVER = {
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name: 'io.github.example/weather',
  title: 'Weather',
  description: 'Forecasts for a city',
  version: '1.0.2',
  packages: [
    { registryType: 'mcpb', identifier: 'https://example.com/w.mcpb', transport: { type: 'stdio' } },
    {
      registryType: 'npm',
      identifier: '@example/weather',
      version: '1.0.2',
      transport: { type: 'stdio' },
      runtimeArguments: [{ type: 'named', name: '--silent' }],
      packageArguments: [
        { type: 'positional', value: 'serve' },
        { type: 'named', name: '--units', default: 'metric' },
        { type: 'named', name: '--city', valueHint: 'city', isRequired: true },
      ],
      environmentVariables: [
        { name: 'WEATHER_KEY', isSecret: true, isRequired: true },
        { name: 'WEATHER_LANGUAGE', default: 'en' },
        { name: 'WEATHER_DEBUG', description: 'Log more' },
      ],
    },
  ],
};

const AGENT = {
  apiVersion: 'kagent.dev/v1alpha2',
  kind: 'Agent',
  metadata: { name: 'helper', namespace: 'team', uid: 'u', labels: { app: 'helper' } },
  spec: {
    type: 'Declarative',
    description: 'Answers questions about the cluster.',
    declarative: {
      systemMessage: 'You help.\nBe brief.\n',
      modelConfig: 'fast',
      stream: true,
      tools: [
        {
          type: 'McpServer',
          mcpServer: {
            apiGroup: 'kagent.dev',
            kind: 'RemoteMCPServer',
            name: 'k8s-tools',
            toolNames: ['list_pods', 'delete_pod'],
            requireApproval: ['delete_pod'],
          },
        },
        { type: 'McpServer', mcpServer: { kind: 'MCPServer', name: 'docs', toolNames: ['search'] } },
        { type: 'Agent', agent: { name: 'billing', namespace: 'finance' } },
      ],
      a2aConfig: { skills: [{ id: 'pods', name: 'Pods', description: 'Lists pods', tags: [] }] },
      memory: { modelConfig: 'embeddings', ttlDays: 30 },
      deployment: { replicas: 2, env: [{ name: 'LOG_LEVEL', value: 'debug' }] },
    },
  },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
};

const MODEL_CONFIG = {
  apiVersion: 'kagent.dev/v1alpha2',
  kind: 'ModelConfig',
  metadata: { name: 'fast', namespace: 'team' },
  spec: {
    provider: 'Anthropic',
    model: 'claude-sonnet-4-5',
    apiKeySecret: 'anthropic',
    apiKeySecretKey: 'KEY',
    anthropic: { temperature: '0.2', maxTokens: 800, topK: 3 },
  },
};

const MCP_SERVER = {
  apiVersion: 'kagent.dev/v1alpha2',
  kind: 'RemoteMCPServer',
  metadata: { name: 'k8s-tools' },
  spec: { description: 'Tools', protocol: 'STREAMABLE_HTTP', url: 'http://k8s-tools.team:8084/mcp' },
  status: { discoveredTools: [{ name: 'list_pods', description: 'Lists pods' }] },
};

interface Result {
  text: string;
  manifest: Manifest;
  unused: string[];
}

function imported(source: string | object, fallbackName = 'folder'): Result {
  const result = importManifest(typeof source === 'string' ? source : JSON.stringify(source), fallbackName);
  if (!result.ok) throw new Error(JSON.stringify(result));
  const parsed = parseManifest(result.text);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return { text: result.text, manifest: parsed.manifest, unused: result.unused };
}

const lines = (text: string): string[] => text.split('\n').map((line) => line.trim());

describe('an A2A agent card', () => {
  test('the cards of these tests are valid for the official SDK', () => {
    const card = AgentCard.fromJSON(CARD);
    expect(card.supportedInterfaces[1]?.url).toBe('https://recipes.example/a2a');
    expect(card.securitySchemes['key']?.scheme?.$case).toBe('apiKeySecurityScheme');
  });

  test('of version 1.0 becomes a manifest with comments', () => {
    const { text, unused } = imported(CARD);
    const [head, commented] = text.split('  # prompts:');
    expect(head)
      .toBe(`# Manifest of this agent, from an A2A agent card (0.3 or 1.0). Replace the placeholders. All keys: platform validate --schema
apiVersion: platform.io/v1
kind: PlatformAgent
metadata:
  name: recipe-agent # "Recipe Agent" in the source
  version: 1.2.0
  description: Finds recipes.
  author: Kitchen
spec:
  model:
    provider: openai # Placeholder: the source does not have the model.
    id: model-id
    apiKey: $env:OPENAI_API_KEY
  api:
    url: https://recipes.example/a2a
    a2a:
      protocolBinding: JSONRPC
      protocolVersion: "1.0"
    auth:
      type: apikey
      header: X-Recipe-Key
    streaming: true
  skills:
    - id: find
    - id: convert
`);
    expect(unused).toEqual([
      'supportedInterfaces[]',
      'provider.url',
      'iconUrl',
      'capabilities.pushNotifications',
      'securityRequirements',
      'defaultInputModes',
      'defaultOutputModes',
      'skills[].name (2)',
      'skills[].description (2)',
      'skills[].tags',
    ]);
    for (const path of unused) expect(commented).toContain(`#   ${path}\n`);
  });

  test('of version 0.3 uses the first interface that a manifest can declare', () => {
    const { manifest, text, unused } = imported(OLD_CARD);
    expect(manifest.metadata).toMatchObject({ name: 'geo', version: '0.1.0' });
    expect(manifest.spec.api).toEqual({
      url: 'https://geo.example/v1',
      a2a: { protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
      auth: { type: 'oauth2' },
    });
    expect(lines(text)).toContain(
      'version: 0.1.0 # Placeholder: the source does not have a semantic version.',
    );
    expect(unused).toEqual([
      'url',
      'preferredTransport',
      'version',
      'securitySchemes.token',
      'defaultInputModes',
      'defaultOutputModes',
    ]);
  });

  test.each([
    [
      'a JWT',
      { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      { type: 'jwt', header: 'Authorization' },
    ],
    [
      'another bearer token',
      { httpAuthSecurityScheme: { scheme: 'Bearer' } },
      { type: 'apikey', header: 'Authorization' },
    ],
    [
      'a key in a header',
      { type: 'apiKey', in: 'header', name: 'X-Key' },
      { type: 'apikey', header: 'X-Key' },
    ],
    [
      'OpenID Connect',
      { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://x.example' } },
      { type: 'oauth2' },
    ],
    ['a key in the query', { type: 'apiKey', in: 'query', name: 'key' }, undefined],
    ['basic authentication', { type: 'http', scheme: 'basic' }, undefined],
    ['mutual TLS', { mtlsSecurityScheme: {} }, undefined],
  ])('the security scheme of %s', (_what, scheme, auth) => {
    const { manifest } = imported({ ...CARD, securitySchemes: { only: scheme } });
    expect(manifest.spec.api?.auth).toEqual(auth);
  });

  test('that export wrote gives the same identity and interface', () => {
    const full = parseManifest(FULL_MANIFEST);
    if (!full.ok) throw new Error('the full manifest is not valid');
    const { manifest } = imported(cardOf(full.manifest));
    expect(manifest.metadata).toMatchObject({
      name: full.manifest.metadata.name,
      version: full.manifest.metadata.version,
      description: full.manifest.metadata.description,
    });
    expect(manifest.spec.api?.url !== undefined).toBe(full.manifest.spec.api?.a2a !== undefined);
  });
});

describe('an MCP server.json', () => {
  test('becomes the manifest of an agent that uses the server', () => {
    const { manifest, text, unused } = imported(SERVER);
    expect(manifest.metadata).toMatchObject({
      name: 'folder',
      description: 'Uses the MCP server Weather: Forecasts for a city',
    });
    expect(manifest.spec.requires).toEqual({ envVars: ['WEATHER_KEY'] });
    expect(manifest.spec.mcp?.servers).toEqual([
      {
        name: 'weather',
        transport: 'stdio',
        command: 'npx',
        args: ['-y', '--silent', '@example/weather@1.0.2', 'serve', '--units', 'metric'],
        env: { WEATHER_KEY: '$env:WEATHER_KEY', WEATHER_LANGUAGE: 'en' },
      },
    ]);
    expect(lines(text)).toContain('- name: weather # "io.github.example/weather 1.0.2" in the source');
    expect(unused).toEqual([
      'packages[]',
      'packages[].packageArguments[]',
      'packages[].environmentVariables[]',
    ]);
  });

  test('a remote address is preferred to a package', () => {
    const remotes = [
      { type: 'sse', url: 'https://{tenant}.example.com/sse' },
      { type: 'streamable-http', url: 'https://mcp.example.com/mcp', headers: [{ name: 'X-Key' }] },
    ];
    const { manifest, unused } = imported({ ...SERVER, remotes });
    expect(manifest.spec.mcp?.servers).toEqual([
      { name: 'weather', transport: 'http', url: 'https://mcp.example.com/mcp' },
    ]);
    expect(unused).toEqual(['packages', 'remotes[]', 'remotes[].headers']);
  });

  test.each([
    ['pypi', 'weather-mcp', '1.0', 'uvx', ['weather-mcp==1.0']],
    ['nuget', 'Weather.Mcp', '1.0', 'dnx', ['Weather.Mcp@1.0', '--yes']],
    ['oci', 'ghcr.io/x/weather', '1.0', 'docker', ['run', '-i', '--rm', '-e', 'A', 'ghcr.io/x/weather:1.0']],
    [
      'oci',
      'ghcr.io/x/weather:2',
      undefined,
      'docker',
      ['run', '-i', '--rm', '-e', 'A', 'ghcr.io/x/weather:2'],
    ],
  ])('a package of %s (%s)', (registryType, identifier, ...wanted) => {
    const [version, command, args] = wanted;
    const entry = { registryType, identifier, version, transport: { type: 'stdio' } };
    const environmentVariables = [{ name: 'A', value: '1' }];
    const { manifest } = imported({ ...SERVER, packages: [{ ...entry, environmentVariables }] });
    expect(manifest.spec.mcp?.servers?.[0]).toMatchObject({ command, args, env: { A: '1' } });
  });

  test('a response of the registry', () => {
    const { manifest, unused } = imported({ server: { ...SERVER, packages: [] }, _meta: { at: 'today' } });
    expect(manifest.spec.mcp?.servers?.[0]?.name).toBe('weather');
    expect(unused).toEqual(['_meta']);
  });

  test('a server without an address or a known package gets a placeholder', () => {
    const { text } = imported({ ...SERVER, packages: [] });
    expect(text).toContain(
      'url: http://localhost:3000/mcp # Placeholder: the source has neither an address nor a known kind of package.',
    );
  });
});

describe('an Agent of kagent', () => {
  test('alone has placeholders for the model and the addresses', () => {
    const { manifest, text, unused } = imported(AGENT);
    expect(manifest.metadata).toMatchObject({ name: 'helper', description: AGENT.spec.description });
    expect(manifest.spec).toMatchObject({
      prompts: { system: 'You help.\nBe brief.\n' },
      tools: [
        { name: 'list_pods', type: 'mcp' },
        { name: 'delete_pod', type: 'mcp' },
        { name: 'search', type: 'mcp' },
      ],
      mcp: {
        servers: [
          { name: 'k8s-tools', transport: 'http', url: 'http://k8s-tools.team/mcp' },
          { name: 'docs', transport: 'http', url: 'http://docs.team/mcp' },
        ],
      },
      subagents: [{ name: 'billing', ref: { a2a: { url: 'http://billing.finance:8080' } } }],
      humanInTheLoop: { enabled: true, approvalRequired: ['delete_pod'] },
      memory: { longTerm: { backend: 'kagent', ttlDays: 30 } },
      requires: { envVars: ['LOG_LEVEL'] },
      api: {
        port: 8080,
        url: 'http://helper.team:8080',
        a2a: { protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
        streaming: true,
      },
      skills: [{ id: 'pods' }],
    });
    expect(text).toContain('# Placeholder: the source does not have the ModelConfig "fast".');
    expect(text.match(/# Placeholder: the source does not have the address of this server\./g)).toHaveLength(
      2,
    );
    expect(unused).toEqual([
      'metadata.labels',
      'spec.declarative.a2aConfig.skills[].name',
      'spec.declarative.a2aConfig.skills[].description',
      'spec.declarative.memory.modelConfig',
      'spec.declarative.deployment.replicas',
      'spec.declarative.deployment.env[].value',
    ]);
  });

  test.each([
    ['documents', [AGENT, MODEL_CONFIG, MCP_SERVER].map((each) => `---\n${stringify(each)}`).join('')],
    ['a list', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [MODEL_CONFIG, AGENT, MCP_SERVER] })],
  ])('with its ModelConfig and MCP server in %s', (_what, source) => {
    const { manifest, text, unused } = imported(source);
    expect(manifest.spec.model).toEqual({
      provider: 'anthropic',
      id: 'claude-sonnet-4-5',
      apiKey: '$env:ANTHROPIC_API_KEY',
      parameters: { temperature: 0.2, maxTokens: 800 },
    });
    expect(text).toContain('# kagent sets it from the key "KEY" of the Secret "anthropic".');
    expect(manifest.spec.mcp?.servers?.[0]).toEqual({
      name: 'k8s-tools',
      transport: 'http',
      url: 'http://k8s-tools.team:8084/mcp',
    });
    expect(manifest.spec.tools?.[0]?.description).toBe('Lists pods');
    expect(unused.some((path) => path.endsWith('spec.anthropic.topK'))).toBe(true);
  });

  test('of version v1alpha1', () => {
    const { manifest } = imported({
      apiVersion: 'kagent.dev/v1alpha1',
      kind: 'Agent',
      metadata: { name: 'old' },
      spec: {
        description: 'Old',
        systemMessage: 'Help.',
        modelConfig: 'kagent/fast',
        tools: [
          { type: 'McpServer', mcpServer: { toolServer: 'tools/k8s', toolNames: ['list_pods'] } },
          { type: 'Agent', agent: { ref: 'finance/billing' } },
        ],
      },
    });
    expect(manifest.spec).toMatchObject({
      prompts: { system: 'Help.' },
      tools: [{ name: 'list_pods', type: 'mcp' }],
      mcp: { servers: [{ name: 'k8s', transport: 'http', url: 'http://k8s.tools/mcp' }] },
      subagents: [{ name: 'billing', ref: { a2a: { url: 'http://billing.finance:8080' } } }],
      api: { port: 8080 },
    });
  });

  test('brought by the user has variables of its container', () => {
    const { manifest, unused } = imported({
      ...AGENT,
      spec: { type: 'BYO', byo: { deployment: { image: 'x', env: [{ name: 'TOKEN' }] } } },
    });
    expect(manifest.spec.requires).toEqual({ envVars: ['TOKEN'] });
    expect(unused).toContain('spec.byo.deployment.image');
  });

  test('names the resources to get from the cluster', () => {
    expect(kagentReferences(AGENT, 'team')).toEqual([
      { kind: 'ModelConfig', namespace: 'team', name: 'fast' },
      { kind: 'RemoteMCPServer', namespace: 'team', name: 'k8s-tools' },
    ]);
    expect(kagentReferences({ spec: { tools: [{ mcpServer: { toolServer: 'a/b' } }, 3] } }, 'team')).toEqual([
      { kind: 'ModelConfig', namespace: 'team', name: 'default-model-config' },
      { kind: 'ToolServer', namespace: 'a', name: 'b' },
    ]);
    expect(kagentReferences(null, 'team')).toHaveLength(1);
  });
});

test('all commented parts are valid when they are used', () => {
  const { text } = imported({
    ...CARD,
    supportedInterfaces: [],
    capabilities: {},
    securitySchemes: {},
    skills: [],
  });
  const used = text.replaceAll(/^ {2}# /gm, '  ');
  const parsed = parseManifest(used);
  expect(parsed).toMatchObject({ ok: true });
  if (parsed.ok)
    for (const part of Object.keys(OPTIONAL_PARTS)) expect(parsed.manifest.spec).toHaveProperty(part);
});

describe('errors', () => {
  test.each<[string, string, string]>([
    ['an empty file', '', 'is not one of the known formats: an Agent of kagent'],
    ['text', 'hello', 'is not one of the known formats'],
    ['a manifest', FULL_MANIFEST, 'is already a manifest'],
    [
      'an agentspec manifest',
      'apiVersion: agentspec.io/v1\n',
      'is an agentspec manifest; convert it with "platform migrate"',
    ],
    [
      'a newer kagent',
      'apiVersion: api.kagent.dev/v1alpha3\nkind: Agent\n',
      'got apiVersion "api.kagent.dev/v1alpha3"',
    ],
    [
      'two agents',
      `${stringify(AGENT)}---\n${stringify(AGENT)}`,
      'describes 2 agents; keep only one of them',
    ],
    ['a large file', ' '.repeat(2_000_000), 'exceeds the maximum size of 1 MiB'],
    ['many documents', '---\n'.repeat(5_000), 'cannot be read'],
    ['invalid JSON', '{"name": "x", "url": ', 'cannot be read'],
  ])('%s', (_what, text, reason) => {
    const result = importManifest(text, 'folder');
    expect(result).toMatchObject({ ok: false, reason: expect.stringContaining(reason) as unknown });
  });

  test('a document that is nested too deeply', () => {
    const result = importManifest(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`, 'folder');
    expect(result).toMatchObject({ ok: false, reason: 'cannot be read', problems: [{ line: 1 }] });
  });

  test('wrong types and control characters are listed with their positions', () => {
    const card = { ...CARD, name: 'a\u0007b', version: 3, skills: [{ id: ['x'] }], capabilities: 'all' };
    const result = importManifest(JSON.stringify(card, null, 1), 'folder');
    expect(result).toMatchObject({ ok: false, reason: 'is not a valid A2A agent card (0.3 or 1.0)' });
    if (result.ok) return;
    expect(result.problems.map(({ path, message, line }) => [path, message, line])).toEqual([
      ['name', 'contains a control character', 2],
      ['version', 'must be a string', 4],
      ['capabilities', 'must be an object', expect.any(Number)],
      ['skills[0].id', 'must be a string', expect.any(Number)],
    ]);
  });

  test('the position in a later document counts the lines of the earlier ones', () => {
    const source = `kind: Other\n---\n${stringify({ ...AGENT, spec: { description: 1 } })}`;
    const result = importManifest(source, 'folder');
    expect(result.ok ? [] : result.problems[0]).toMatchObject({
      path: 'spec.description',
      line: source.split('\n').findIndex((line) => line.includes('description: 1')) + 1,
    });
  });
});

describe('text of the source', () => {
  test.each(['$env:AWS_SECRET_ACCESS_KEY', '$file:../../etc/passwd', '$secret:admin'])(
    'never becomes the reference %s',
    (reference) => {
      const { manifest, unused } = imported({
        ...CARD,
        description: reference,
        provider: { organization: reference },
        skills: [{ id: reference }],
      });
      expect(JSON.stringify(manifest)).not.toContain(reference);
      expect(unused).toEqual(expect.arrayContaining(['description', 'provider', 'skills']));
    },
  );

  test('cannot end a comment', () => {
    const { text, manifest } = imported({ ...CARD, name: 'a\nevil: true', 'x\ny: 1': 1 });
    expect(manifest.metadata.name).toBe('a-evil-true');
    expect(text).not.toMatch(/^\s*(?:evil|y): /m);
  });

  test('a name without letters is replaced by that of the directory', () => {
    expect(imported({ ...CARD, name: '料理' }).manifest.metadata.name).toBe('folder');
  });
});

test('any change of a source gives a valid manifest or an error', () => {
  const hostile = fc.oneof(
    fc.constantFrom<unknown>(
      null,
      '',
      ' ',
      0,
      -1,
      1e308,
      true,
      [],
      {},
      [[]],
      { toString: 1, valueOf: 1 },
      '$env:X',
      '$foo:x',
      'a: b\n- c',
      '\u2028',
    ),
    fc.array(anyCharacter(), { maxLength: 8 }).map((characters) => characters.join('')),
    fc.constant('x'.repeat(300)),
  );
  const change = fc.record({ at: fc.nat(), value: hostile });
  const source = fc.constantFrom<unknown>(CARD, OLD_CARD, SERVER, AGENT, {
    kind: 'List',
    items: [AGENT, MODEL_CONFIG, MCP_SERVER],
  });
  fc.assert(
    fc.property(source, fc.array(change, { minLength: 1, maxLength: 4 }), (original, changes) => {
      const changed = changes.reduce((tree, { at, value }) => replaced(tree, at, value), original);
      const result = importManifest(JSON.stringify(changed) ?? 'null', 'folder');
      if (result.ok) expect(parseManifest(result.text)).toMatchObject({ ok: true });
      else expect(result.reason).not.toContain('does not make a valid manifest');
    }),
    { numRuns: runs(300) },
  );
});

/** A copy of a tree with one of its values replaced. */
function replaced(tree: unknown, at: number, value: unknown): unknown {
  if (typeof tree !== 'object' || tree === null || Object.keys(tree).length === 0) return value;
  const keys = Object.keys(tree);
  const key = keys[at % keys.length] ?? '';
  const inner = (tree as Record<string, unknown>)[key];
  const next = at % 7 === 0 ? value : replaced(inner, Math.floor(at / keys.length), value);
  return Array.isArray(tree)
    ? tree.map((item: unknown, index) => (String(index) === key ? next : item))
    : { ...tree, [key]: next };
}
