import type { ManifestSpec, McpServer, Subagent, Tool } from '../../core/manifest/manifest.ts';
import { FORMATS } from '../../core/manifest/schema-node.ts';
import { present } from '../../core/untrusted/present.ts';
import type { Cursor } from './cursor.ts';
import type { Remark } from './draft.ts';

/** Every agent of kagent serves A2A on this port of its Service. */
export const AGENT_PORT = 8080;
export const OBJECT_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;
/** In v1alpha1, the namespace may be in front of the name. */
const REFERENCE = /^(?:([a-z0-9-]{1,63})\/)?([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)$/;
const HTTP_URL = new RegExp(FORMATS.httpUrl.pattern);

/** Whether a document is a resource of kagent of this kind. */
export function isKagent(document: Cursor, kind?: string): boolean {
  const isOfGroup = document.peekText('apiVersion').startsWith('kagent.dev/');
  return isOfGroup && (kind === undefined || document.peek('kind') === kind);
}

interface Context {
  others: readonly Cursor[];
  /** Namespace of the agent. */
  namespace: string | undefined;
}

interface Found {
  tools: Map<string, Tool>;
  servers: Map<string, McpServer>;
  subagents: Map<string, Subagent>;
  approvals: Set<string>;
  remarks: Remark[];
}

/** What the `tools` of an agent declare: MCP servers, their tools, other agents, and tools that need an approval. */
export function kagentTools(
  entries: readonly Cursor[],
  context: Context,
): { parts: Partial<ManifestSpec>; remarks: Remark[] } {
  const found: Found = {
    tools: new Map(),
    servers: new Map(),
    subagents: new Map(),
    approvals: new Set(),
    remarks: [],
  };
  for (const entry of entries) {
    entry.at('type').use();
    addServer(entry.at('mcpServer'), found, context);
    addSubagent(entry.at('agent'), found, context);
  }
  const { tools, servers, subagents, approvals, remarks } = found;
  return {
    parts: {
      ...(tools.size > 0 && { tools: [...tools.values()] }),
      ...(servers.size > 0 && { mcp: { servers: [...servers.values()] } }),
      ...(subagents.size > 0 && { subagents: [...subagents.values()] }),
      ...(approvals.size > 0 && { humanInTheLoop: { enabled: true, approvalRequired: [...approvals] } }),
    },
    remarks,
  };
}

function addServer(entry: Cursor, found: Found, context: Context): void {
  const reference = referenceOf(entry, 'toolServer');
  if (reference === undefined) return;
  const { name } = reference;
  const config = context.others.find(
    (other) =>
      (isKagent(other, 'RemoteMCPServer') || isKagent(other, 'ToolServer')) &&
      other.peek('metadata', 'name') === name,
  );
  if (!found.servers.has(name)) {
    const address = config === undefined ? undefined : addressOf(config);
    if (address === undefined)
      found.remarks.push({
        path: ['spec', 'mcp', 'servers', found.servers.size, 'url'],
        text: 'Placeholder: the source does not have the address of this server.',
      });
    const placeholder = { transport: 'http', url: `http://${hostOf(reference, context)}/mcp` } as const;
    found.servers.set(name, { name, ...(address ?? placeholder) });
  }
  const descriptions = descriptionsOf(config);
  for (const tool of textsOf(entry.at('toolNames')))
    found.tools.set(tool, { name: tool, type: 'mcp', ...present({ description: descriptions.get(tool) }) });
  for (const tool of textsOf(entry.at('requireApproval'))) found.approvals.add(tool);
}

function addSubagent(entry: Cursor, { subagents }: Found, context: Context): void {
  const reference = referenceOf(entry, 'ref');
  if (reference === undefined || subagents.has(reference.name)) return;
  const url = `http://${hostOf(reference, context)}:${AGENT_PORT}`;
  subagents.set(reference.name, { name: reference.name, ref: { a2a: { url } } });
}

const textsOf = (list: Cursor): string[] =>
  list
    .items()
    .map((item) => item.text())
    .filter((text) => text !== undefined);

interface Reference {
  namespace: string | undefined;
  name: string;
}

/** `{name, namespace}` of v1alpha2, or `namespace/name` under `oldKey` of v1alpha1. */
function referenceOf(cursor: Cursor, oldKey: string): Reference | undefined {
  for (const key of ['kind', 'apiGroup']) cursor.at(key).use();
  const name = cursor.at('name').text(OBJECT_NAME);
  if (name !== undefined) return { name, namespace: cursor.at('namespace').text(OBJECT_NAME) };
  const [, namespace, old] = REFERENCE.exec(cursor.at(oldKey).text(REFERENCE) ?? '') ?? [];
  return old === undefined ? undefined : { name: old, namespace };
}

/** Name of a Service; without a namespace it is in the namespace of the caller. */
function hostOf(reference: Reference, context: Context): string {
  const namespace = reference.namespace ?? context.namespace;
  return namespace === undefined ? reference.name : `${reference.name}.${namespace}`;
}

/** Address of a RemoteMCPServer (v1alpha2) or a ToolServer (v1alpha1). */
function addressOf(server: Cursor): Pick<McpServer, 'transport' | 'url'> | undefined {
  for (const key of ['name', 'namespace']) server.at('metadata', key).use();
  const spec = server.at('spec');
  const url = spec.at('url').text(HTTP_URL);
  const isSse = spec.at('protocol').text()?.toUpperCase() === 'SSE';
  if (url !== undefined) return { transport: isSse ? 'sse' : 'http', url };
  const http = spec.at('config', 'streamableHttp', 'url').text(HTTP_URL);
  if (http !== undefined) return { transport: 'http', url: http };
  const sse = spec.at('config', 'sse', 'url').text(HTTP_URL);
  return sse === undefined ? undefined : { transport: 'sse', url: sse };
}

/** Descriptions of the tools that kagent found on a server. */
function descriptionsOf(server: Cursor | undefined): Map<string, string> {
  const tools = server?.at('status', 'discoveredTools').items() ?? [];
  return new Map(
    tools.flatMap((tool): [string, string][] => {
      const [name, description] = [tool.at('name').text(), tool.at('description').text()];
      return name === undefined || description === undefined ? [] : [[name, description]];
    }),
  );
}
