import { isMap, isScalar, isSeq, type Document, type YAMLMap } from 'yaml';
import type { PathToken } from '../../core/manifest/yaml-tree.ts';
import { mapAt, type TextEdits } from './edits.ts';

/** One step of a conversion: adds edits for what it finds in the document. */
type Step = (document: Document, edits: TextEdits) => void;

/** Services of agentspec have only a type. Here the name identifies a service, so that two of one type are possible. */
const nameServices: Step = (document, edits) => {
  const used = new Set<string>();
  for (const [service, at] of itemsOf(document, ['spec', 'requires', 'services'])) {
    edits.renameKey(service, [...at, 'connection'], 'address');
    const type = textOf(service.get('type', true));
    if (type === null || service.has('name')) continue;
    let name = type;
    for (let number = 2; used.has(name); number += 1) name = `${type}-${number}`;
    used.add(name);
    edits.addFirst(service, [...at, 'name'], name);
  }
};

const renameSubagentManifests: Step = (document, edits) => {
  for (const [, at] of itemsOf(document, ['spec', 'subagents'])) {
    const ref = mapAt(document, [...at, 'ref']);
    if (ref !== undefined) edits.renameKey(ref, [...at, 'ref', 'agentspec'], 'manifest');
  }
};

/** The capability card shows `spec.api.streaming`. The field of the chat endpoint is kept aside later. */
const copyStreaming: Step = (document, edits) => {
  const api = mapAt(document, ['spec', 'api']);
  const streaming = textOf(document.getIn(['spec', 'api', 'chatEndpoint', 'streaming'], true));
  if (api !== undefined && !api.has('streaming') && (streaming === 'true' || streaming === 'false'))
    edits.addFirst(api, ['spec', 'api', 'streaming'], streaming);
};

const setGrpcAside: Step = (document, edits) => {
  const api = mapAt(document, ['spec', 'api']);
  if (api !== undefined && textOf(api.get('type', true)) === 'grpc')
    edits.setAside(api, ['spec', 'api', 'type'], 'an HTTP/1.1 proxy cannot carry gRPC');
};

function itemsOf(document: Document, path: readonly PathToken[]): [YAMLMap, PathToken[]][] {
  const list: unknown = document.getIn(path);
  if (!isSeq(list)) return [];
  return list.items.flatMap((item, index): [YAMLMap, PathToken[]][] =>
    isMap(item) && item.items.length > 0 ? [[item, [...path, index]]] : [],
  );
}

function textOf(node: unknown): string | null {
  return isScalar(node) && typeof node.value === 'string' ? node.value : null;
}

const AGENTSPEC: readonly Step[] = [nameServices, renameSubagentManifests, copyStreaming, setGrpcAside];

/** Steps by the apiVersion of the source. What they leave without a place in the schema is kept under `x-` keys afterwards. */
export const STEPS: ReadonlyMap<string, readonly Step[]> = new Map([
  ['platform.io/v1alpha1', []],
  ['agentspec.io/v1', AGENTSPEC],
  ['agentspec/v1alpha1', AGENTSPEC],
]);
