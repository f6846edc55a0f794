import { declaredModelName, modelNamesOf } from '../../core/facts/sightings.ts';
import type { Manifest, McpServer, Model } from '../../core/manifest/manifest.ts';
import { referenceOf } from '../../core/manifest/references.ts';
import { present } from '../../core/untrusted/present.ts';
import { modelVendorOf } from '../../core/vendors/vendors.ts';

export const SPEC_VERSIONS = ['1.6', '1.7'] as const;
export type SpecVersion = (typeof SPEC_VERSIONS)[number];

/** An item that lanes or the census of a sidecar observed. */
export interface ObservedItem {
  /** The kind in the matrix of the sidecar. */
  kind: string;
  name: string;
  declared: boolean | null;
}

export interface BomInput {
  manifest: Manifest;
  /** SHA-256 of the manifest file, hex. */
  manifestHash: string;
  /** Name of the manifest file. */
  file: string;
  /** Path of a `$file:` reference -> SHA-256, hex. A file that cannot be read is absent. */
  fileHashes: ReadonlyMap<string, string>;
  /** null: no sidecar. */
  observed: { url: string; items: readonly ObservedItem[] } | null;
  specVersion: SpecVersion;
  /** Version of this program. */
  version: string;
}

interface Property {
  name: string;
  value: string;
}

/** One component or service before its evidence is added. */
interface Part {
  ref: string;
  name: string;
  /** Path in the manifest; null: the manifest does not declare it. */
  path: string | null;
  /** Kind and name of its row in the matrix. */
  observedAs: { kind: string; isSame: (name: string) => boolean };
  members: Record<string, unknown>;
}

/** Own properties; `aibom.` are those that other bills of materials of agents use. */
const OWN = 'agent-compliance';

/**
 * A CycloneDX bill of materials of the agent, without a serial number: what the manifest declares, and what a sidecar observed. It
 * is never complete, and the same input gives the same document.
 */
export function cycloneDx(input: BomInput): Record<string, unknown> {
  const { manifest, specVersion, version } = input;
  const components = [...componentsOf(input), ...undeclared(input, ['model', 'tool'])];
  const services = [...servicesOf(manifest), ...undeclared(input, ['mcp', 'host'])];
  const agent = 'agent';
  const refs = [...components, ...services].map(({ ref }) => ref);
  return {
    ...{ bomFormat: 'CycloneDX', specVersion, version: 1 },
    metadata: {
      tools: { components: [{ type: 'application', name: 'agent-compliance', version }] },
      component: {
        ...{ type: 'application', 'bom-ref': agent },
        ...present({ name: manifest.metadata.name, version: manifest.metadata.version }),
        description: manifest.metadata.description,
        properties: [
          { name: `${OWN}:kind`, value: 'agent' },
          { name: `${OWN}:manifest-sha256`, value: input.manifestHash },
        ],
      },
    },
    components: components.map((part) => ({ ...shown(part, input), ...evidenceOf(part, input) })),
    services: services.map((part) => shown(part, input)),
    dependencies: [{ ref: agent, dependsOn: refs }, ...refs.map((ref) => ({ ref }))],
    compositions: [{ aggregate: 'incomplete', assemblies: [agent, ...refs] }],
  };
}

const named = (kind: string, name: string): Part['observedAs'] => ({
  kind,
  isSame: (other) => other === name,
});

function componentsOf({ manifest, fileHashes }: BomInput): Part[] {
  const { model, prompts, tools = [] } = manifest.spec;
  const models = [
    { at: 'spec.model', of: model },
    ...(model.fallback ? [{ at: 'spec.model.fallback', of: model.fallback }] : []),
  ];
  const prompt = referenceOf(prompts?.system ?? '');
  return unique([
    ...models.map(({ at, of }) => modelPart(of, at)),
    ...(prompt?.kind === 'file' ? [filePart(prompt.name, fileHashes.get(prompt.name))] : []),
    ...tools.map(({ name, description }, index): Part => ({
      ...{ ref: `tool:${name}`, name, path: `spec.tools[${index}]`, observedAs: named('tool', name) },
      members: present({ type: 'application', description }),
    })),
  ]);
}

function modelPart({ provider, id }: Pick<Model, 'provider' | 'id'>, path: string): Part {
  return {
    ...{ ref: `model:${provider}/${id}`, name: id, path },
    observedAs: { kind: 'model', isSame: (name) => modelNamesOf(name).includes(declaredModelName(id)) },
    members: { type: 'machine-learning-model', publisher: provider, modelCard: {} },
  };
}

function filePart(name: string, sha256: string | undefined): Part {
  return {
    ...{ ref: `prompt:${name}`, name, path: 'spec.prompts.system', observedAs: named('prompt', name) },
    members: { type: 'data', ...(sha256 && { hashes: [{ alg: 'SHA-256', content: sha256 }] }) },
  };
}

function servicesOf({ spec }: Manifest): Part[] {
  const providers = [spec.model, ...(spec.model.fallback ? [spec.model.fallback] : [])];
  return unique([
    ...providers.map(({ provider }, index): Part => {
      const { baseUrl } = modelVendorOf(provider).vendor;
      const host = baseUrl === null ? '' : new URL(baseUrl).hostname;
      return {
        ...{ ref: `endpoint:${provider}`, name: provider, observedAs: named('host', host) },
        path: index === 0 ? 'spec.model.provider' : 'spec.model.fallback.provider',
        members: {
          ...(baseUrl !== null && { endpoints: [baseUrl] }),
          ...{ authenticated: true, 'x-trust-boundary': true },
        },
      };
    }),
    ...(spec.mcp?.servers ?? []).map((server, index): Part => {
      const endpoint = endpointOf(server);
      return {
        ...{ ref: `mcp:${server.name}`, name: server.name, path: `spec.mcp.servers[${index}]` },
        observedAs: named('mcp', server.name),
        members: {
          ...(endpoint !== null && { endpoints: [endpoint] }),
          // A server that the agent starts runs in the container of the agent.
          'x-trust-boundary': server.command === undefined,
        },
      };
    }),
  ]);
}

/** The address of a server without credentials and query; null: it has none, or a reference has it. */
function endpointOf({ url, host, port }: McpServer): string | null {
  const text = url ?? (host === undefined || port === undefined ? '' : `http://${host}:${port}`);
  const parsed = URL.parse(text);
  return parsed === null ? null : `${parsed.origin}${parsed.pathname}`;
}

const unique = (parts: readonly Part[]): Part[] => [
  ...new Map(parts.map((part) => [part.ref, part])).values(),
];

const TYPES: Readonly<Record<string, object>> = {
  model: { type: 'machine-learning-model', modelCard: {} },
  tool: { type: 'application' },
};

/** The observed items of these kinds that the manifest does not declare. */
function undeclared({ observed }: BomInput, kinds: readonly string[]): Part[] {
  const items = (observed?.items ?? []).filter(
    ({ kind, declared }) => kinds.includes(kind) && declared === false,
  );
  return unique(
    items.map(({ kind, name }) => ({
      ...{ ref: `observed:${kind}:${name}`, name, path: null, observedAs: named(kind, name) },
      members: { ...(TYPES[kind] ?? { 'x-trust-boundary': true }) },
    })),
  );
}

const isObserved = ({ observedAs }: Part, { observed }: BomInput): boolean =>
  observed?.items.some(({ kind, name }) => kind === observedAs.kind && observedAs.isSame(name)) ?? false;

function shown(part: Part, input: BomInput): Record<string, unknown> {
  return { 'bom-ref': part.ref, name: part.name, ...part.members, properties: propertiesOf(part, input) };
}

/** The strongest tier, and where it is from. */
function propertiesOf(part: Part, input: BomInput): Property[] {
  const { file, observed } = input;
  const declared = [
    { name: 'aibom.evidence.source', value: file },
    { name: 'aibom.evidence.locator', value: part.path ?? '' },
  ];
  const seen = [
    { name: 'aibom.evidence.source', value: observed?.url ?? '' },
    { name: 'aibom.evidence.locator', value: `/explore?view=matrix#${part.observedAs.kind}` },
  ];
  const isSeen = isObserved(part, input);
  return [
    { name: 'aibom.confidence', value: isSeen ? 'observed' : 'declared' },
    ...(isSeen ? seen : declared),
    { name: `${OWN}:declared`, value: String(part.path !== null) },
  ];
}

/** How the identity of a component is known. Services have no evidence in CycloneDX. */
function evidenceOf(part: Part, input: BomInput): object {
  const methods = [
    ...(part.path === null ? [] : [{ technique: 'manifest-analysis', confidence: 1, value: part.path }]),
    ...(isObserved(part, input) ? [{ technique: 'instrumentation', confidence: 1 }] : []),
  ];
  return { evidence: { identity: [{ field: 'name', confidence: 1, methods }] } };
}
