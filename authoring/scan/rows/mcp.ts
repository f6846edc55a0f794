import type { Call, Code, Setting } from '../code.ts';
import type { McpFound } from '../discovery.ts';
import { asCall, callOf, type CallRow, type ObjectRow } from '../row.ts';
import type { Source } from '../source.ts';
import { optionOf, type Value } from '../values.ts';

type Options = Pick<Call, 'source' | 'args'>;
type Keys = readonly (string | number)[];

const NAME: Keys = ['name', 'server_label', 'serverLabel'];
const ADDRESS: Keys = ['url', 'server_url', 'serverUrl'];
/** Options that contain the options of the connection. */
const NESTED: Keys = ['params', 'transport', 'tool_config', 'server_params', 'connection_params'];

/** Reads the connection to one server. `name`: its key in an object of servers. */
function serverOf(
  options: Options,
  code: Code,
  {
    name = null,
    positional = {},
  }: { name?: string | null; positional?: { url?: Keys; command?: Keys } } = {},
): McpFound[] {
  const named = name ?? code.textOption(options, NAME);
  const all = [options, ...nestedOptions(options)];
  const first = <T>(read: (each: Options) => T | null): T | null => {
    for (const each of all) {
      const found = read(each);
      if (found !== null) return found;
    }
    return null;
  };
  const url = first((each) => settingOf(code.setting(each, [...ADDRESS, ...(positional.url ?? [])])));
  const full = first((each) => code.textOption(each, ['fullCommand']))?.split(' ');
  const commandKeys = ['command', ...(positional.command ?? [])];
  const command = url === null ? (full?.[0] ?? first((each) => code.textOption(each, commandKeys))) : null;
  if (url === null && command === null) return [];
  const transport = url === null ? 'stdio' : isSse(options, code, url) ? 'sse' : 'http';
  const list = first((each) => optionOf(each.args, ['args']));
  const args = full?.slice(1) ?? argumentsIn(list, options.source, code);
  const env = environmentIn(
    first((each) => optionOf(each.args, ['env'])),
    options.source,
    code,
  );
  return [{ kind: 'mcp', name: named, transport, url, command, args, env }];
}

const settingOf = (setting: Setting | null): Setting | null =>
  setting !== null && (setting.variable !== null || /^https?:\/\//.test(setting.text ?? '')) ? setting : null;

function nestedOptions({ source, args }: Options): Options[] {
  const nested = optionOf(args, NESTED);
  const call = callOf(nested);
  if (call !== null) return [{ source, args: call.args }];
  return nested?.kind === 'object' ? [asCall(source, nested)] : [];
}

function isSse(options: Options, code: Code, url: Setting | null): boolean {
  const named = [options, ...nestedOptions(options)].map((each) =>
    code.textOption(each, ['transport', 'type']),
  );
  return named.includes('sse') || (!named.some(isHttp) && /\/sse\/?$/.test(url?.text ?? ''));
}

const isHttp = (transport: string | null): boolean =>
  transport !== null && /^(?:streamable_?)?http$/i.test(transport);

/** Literal arguments; null: one of them is not a literal. An absent list is empty. */
function argumentsIn(list: Value | null, source: Source, code: Code): string[] | null {
  if (list === null) return [];
  if (list.kind !== 'list') return null;
  const texts = list.items.map((item) => code.resolve(source, item));
  return texts.every((item) => item?.variable === null && item.text !== null)
    ? texts.map((item) => item?.text ?? '')
    : null;
}

/** Variables of the agent that its server gets. Literals are not copied: they may be secrets. */
function environmentIn(object: Value | null, source: Source, code: Code): Record<string, string> {
  const found: Record<string, string> = {};
  if (object?.kind !== 'object') return found;
  for (const [name, value] of object.members) {
    const variable = code.resolve(source, value)?.variable;
    if (variable !== undefined && variable !== null) found[name] = variable;
  }
  return found;
}

const one = (
  language: CallRow['language'],
  name: RegExp,
  positional: { url?: Keys; command?: Keys } = {},
): CallRow => ({
  language,
  name,
  read: (call, code) => {
    const isSseClient = /(?:sse|SSE|Sse)/.test(call.name);
    return serverOf(call, code, { positional }).map((server): McpFound =>
      isSseClient && server.transport === 'http' ? { ...server, transport: 'sse' } : server,
    );
  },
});

/** A client of several servers, which are the members of an object: the first argument, or one of its `keys`. */
const several = (language: CallRow['language'], name: RegExp): CallRow => ({
  language,
  name,
  read: ({ source, args }, code) => {
    const nested = optionOf(args, ['servers', 'mcpServers', 'connections', 'config']);
    const own = nested ?? args.positional[0];
    const servers = own?.kind === 'name' ? (code.assigned(source, own.path)?.value ?? own) : own;
    const members = servers?.kind === 'object' ? servers.members : new Map<string, Value>();
    const inner = members.get('mcpServers');
    return [...(inner?.kind === 'object' ? inner.members : members)].flatMap(([key, value]) => {
      const call = callOf(value);
      const options = call === null ? asCall(source, value) : { source, args: call.args };
      return serverOf(options, code, { name: key });
    });
  },
});

export const MCP_ROWS: readonly CallRow[] = [
  one('python', /^mcp[\w.]*:StdioServerParameters$/),
  one('python', /^mcp\.client\.sse:sse_client$/, { url: [0] }),
  one('python', /^mcp\.client\.streamable_http:streamable_?http_client$/, { url: [0] }),
  one('javascript', /^@modelcontextprotocol\/[\w./-]+:StdioClientTransport$/),
  one('javascript', /^@modelcontextprotocol\/[\w./-]+:StreamableHTTPClientTransport$/, {
    url: [0],
  }),
  one('javascript', /^@modelcontextprotocol\/[\w./-]+:SSEClientTransport$/, { url: [0] }),
  one('python', /^fastmcp[\w.]*:(?:Client|\w+Transport)$/, { url: [0] }),
  several('python', /^fastmcp[\w.]*:Client$/),
  one('python', /^agents[\w.]*:(?:MCPServer(?:Stdio|Sse|StreamableHttp)|HostedMCPTool)$/),
  one('javascript', /^@openai\/agents[\w-]*:MCPServer(?:Stdio|SSE|StreamableHttp)$/),
  one('javascript', /^@openai\/agents[\w-]*:hostedMcpTool$/),
  one('python', /^pydantic_ai[\w.]*:(?:MCPServer\w+|MCPToolset)$/, { url: [0], command: [0] }),
  one('python', /^crewai\.mcp[\w.]*:MCPServer(?:Stdio|HTTP|SSE)$/),
  one('python', /^crewai_tools[\w.]*:MCPServerAdapter$/, { url: [0] }),
  one('python', /^autogen_ext[\w.]*:(?:Stdio|Sse|StreamableHttp)ServerParams$/),
  several('any', /^(?:langchain_mcp_adapters[\w.]*|@langchain\/mcp-adapters):MultiServerMCPClient$/),
  several('javascript', /^@mastra\/mcp:MCP(?:Client|Configuration)$/),
  one('javascript', /^(?:ai|@ai-sdk\/mcp):(?:experimental_)?createMCPClient$/),
];

/** A server that the vendor of the model calls. */
export const MCP_OBJECTS: readonly ObjectRow[] = [
  {
    language: 'any',
    key: 'server_url',
    read: ({ source, value }, code) => serverOf(asCall(source, value), code),
  },
  {
    language: 'any',
    key: 'authorization_token',
    read: ({ source, value }, code) => serverOf(asCall(source, value), code),
  },
];
