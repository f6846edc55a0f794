import type { ManifestSpec, McpServer } from '../../core/manifest/manifest.ts';
import { present } from '../../core/untrusted/present.ts';
import { quoted } from '../../core/untrusted/quoted.ts';
import type { Cursor } from './cursor.ts';
import type { Draft, Remark } from './draft.ts';
import { startOf } from './mcp-package.ts';
import type { SourceKind } from './source-kind.ts';

/** The description of an MCP server, as the official registry stores it. The agent is one that uses the server. */
export const mcpServer: SourceKind = {
  name: 'the server.json of an MCP server',
  matches: (document) =>
    document.peek('apiVersion') === undefined &&
    (document.peekText('$schema').includes('modelcontextprotocol') ||
      (document.peek('name') !== undefined &&
        (document.peek('packages') !== undefined || document.peek('remotes') !== undefined))),
  convert,
};

const SERVER = ['spec', 'mcp', 'servers', 0] as const;

function convert(source: Cursor): Draft {
  source.at('$schema').use();
  const fullName = source.at('name').text() ?? 'mcp-server';
  const version = source.at('version').text();
  const title = source.at('title').text() ?? fullName;
  const about = source.at('description').text();
  // The full name is text of the source; only these characters of it can be a name.
  const [name = 'mcp-server'] = /[\w.-]+$/.exec(fullName) ?? [];
  const { server, envVars, remarks } = serverOf(source);
  const spec: Partial<ManifestSpec> = {
    mcp: { servers: [{ name, ...server }] },
    ...(envVars.length > 0 && { requires: { envVars } }),
  };
  const origin = [fullName, version].filter((part) => part !== undefined).join(' ');
  return {
    name: undefined,
    version: undefined,
    description: `Uses the MCP server ${title}${about === undefined ? '.' : `: ${about}`}`,
    spec,
    remarks: [{ path: [...SERVER, 'name'], text: `${quoted(origin)} in the source` }, ...remarks],
  };
}

interface Found {
  server: Omit<McpServer, 'name'>;
  envVars: string[];
  remarks: Remark[];
}

/** The first remote address, else the first package that can be started, else a placeholder. */
function serverOf(source: Cursor): Found {
  for (const remote of source.at('remotes').items()) {
    const address = addressOf(remote);
    if (address !== undefined) return { server: address, envVars: [], remarks: [] };
  }
  for (const entry of source.at('packages').items()) {
    const found = packageOf(entry);
    if (found !== undefined) return found;
  }
  const text = 'Placeholder: the source has neither an address nor a known kind of package.';
  return {
    server: { transport: 'http', url: 'http://localhost:3000/mcp' },
    envVars: [],
    remarks: [{ path: [...SERVER, 'url'], text }],
  };
}

function packageOf(entry: Cursor): Found | undefined {
  const transport = entry.at('transport');
  const isStdio = (transport.peek('type') ?? 'stdio') === 'stdio';
  const address = isStdio ? { transport: 'stdio' as const } : addressOf(transport);
  const start = address === undefined ? undefined : startOf(entry);
  if (address === undefined || start === undefined) return undefined;
  transport.at('type').use();
  const { command, args, env, envVars } = start;
  return { server: { ...address, command, args, ...present({ env }) }, envVars, remarks: [] };
}

/** An address without a template variable. */
const PLAIN_URL = /^https?:\/\/[^\s/?#{}][^\s{}]*$/;
const REMOTE = new Map<unknown, 'sse' | 'http'>([
  ['sse', 'sse'],
  ['streamable-http', 'http'],
]);

function addressOf(transport: Cursor): { transport: 'sse' | 'http'; url: string } | undefined {
  const kind = REMOTE.get(transport.peek('type'));
  const url = kind === undefined ? undefined : transport.at('url').text(PLAIN_URL);
  if (kind === undefined || url === undefined) return undefined;
  transport.at('type').use();
  return { transport: kind, url };
}
