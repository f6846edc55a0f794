import type { ManifestSpec } from '../../core/manifest/manifest.ts';
import { FORMATS } from '../../core/manifest/schema-node.ts';
import { present } from '../../core/untrusted/present.ts';
import { skillsOf } from './a2a-skills.ts';
import type { Cursor } from './cursor.ts';
import type { Draft } from './draft.ts';
import { kagentModel } from './kagent-model.ts';
import { AGENT_PORT, isKagent, kagentTools, OBJECT_NAME } from './kagent-tools.ts';
import type { SourceKind } from './source-kind.ts';

const V1ALPHA1 = 'kagent.dev/v1alpha1';
const V1ALPHA2 = 'kagent.dev/v1alpha2';
const VARIABLE = new RegExp(FORMATS.variable.pattern);

/** An `Agent` of kagent, with the ModelConfig and the MCP servers that it refers to, if the source has them. */
export const kagentAgent: SourceKind = {
  name: 'an Agent of kagent (kagent.dev/v1alpha1 or v1alpha2)',
  matches: (document) =>
    isKagent(document, 'Agent') && [V1ALPHA1, V1ALPHA2].includes(document.peekText('apiVersion')),
  convert,
};

function convert(agent: Cursor, others: readonly Cursor[]): Draft {
  for (const document of [agent, ...others.filter((other) => isKagent(other))]) useClusterFields(document);
  const spec = agent.at('spec');
  spec.at('type').use();
  const isOld = agent.peek('apiVersion') === V1ALPHA1;
  const body = isOld ? spec : spec.at('declarative');
  const name = agent.at('metadata', 'name').text(OBJECT_NAME);
  const namespace = agent.at('metadata', 'namespace').text(OBJECT_NAME);
  const { model, remarks: modelRemarks } = kagentModel(body.at('modelConfig'), others);
  const tools = kagentTools(body.at('tools').items(), { others, namespace });
  const system = body.at('systemMessage').text();
  const parts: Partial<ManifestSpec> = present({
    model,
    prompts: system === undefined ? undefined : { system },
    ...tools.parts,
    memory: isOld ? undefined : memoryOf(body.at('memory')),
    requires: variablesOf([
      body.at('deployment', 'env'),
      ...(isOld ? [] : [spec.at('byo', 'deployment', 'env')]),
    ]),
    api: apiOf(body.at('stream').flag(), name, namespace),
    skills: skillsOf(body.at('a2aConfig', 'skills').items()),
  });
  const port = { path: ['spec', 'api', 'port'], text: 'Agents of kagent listen on this port.' };
  return {
    name,
    version: undefined,
    description: spec.at('description').text(),
    spec: parts,
    remarks: [...modelRemarks, ...tools.remarks, port],
  };
}

/** Fields that the API server or a controller sets. */
function useClusterFields(document: Cursor): void {
  for (const key of ['apiVersion', 'kind', 'status']) document.at(key).use();
  const metadata = document.at('metadata');
  for (const key of ['uid', 'resourceVersion', 'generation', 'creationTimestamp', 'managedFields'])
    metadata.at(key).use();
  metadata.at('annotations', 'kubectl.kubernetes.io/last-applied-configuration').use();
}

/** The long-term memory of kagent's own store. */
function memoryOf(memory: Cursor): ManifestSpec['memory'] {
  if (!memory.isPresent) return undefined;
  const ttlDays = memory.at('ttlDays').number({ min: 0, max: Number.MAX_SAFE_INTEGER, isInteger: true });
  return { longTerm: { backend: 'kagent', ...present({ ttlDays }) } };
}

function variablesOf(lists: readonly Cursor[]): ManifestSpec['requires'] {
  const names = lists
    .flatMap((list) => list.items())
    .map((variable) => variable.at('name').text(VARIABLE))
    .filter((name) => name !== undefined);
  return names.length === 0 ? undefined : { envVars: [...new Set(names)] };
}

function apiOf(
  streaming: boolean | undefined,
  name: string | undefined,
  namespace: string | undefined,
): ManifestSpec['api'] {
  if (name === undefined || namespace === undefined) return { port: AGENT_PORT, ...present({ streaming }) };
  return {
    port: AGENT_PORT,
    url: `http://${name}.${namespace}:${AGENT_PORT}`,
    a2a: { protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ...present({ streaming }),
  };
}
