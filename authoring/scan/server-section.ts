import { FORMATS } from '../../core/manifest/schema-node.ts';
import type { Draft, Item } from './draft.ts';
import type { McpFound } from './discovery.ts';
import { holdsSecret } from './secrets.ts';
import { flowList, flowMap, found, literal, scalar, type Written, type YamlLines } from './yaml-lines.ts';

type Server = Item<McpFound & { name: string }>;

/** `spec.mcp.servers`. A server whose address cannot be written is named in a comment. */
export function mcpSection(lines: YamlLines, servers: Draft['servers']): void {
  const written = servers.map((server) => ({ server, address: addressLines(server) }));
  if (written.some(({ address }) => address !== null)) lines.add(1, 'mcp:').add(2, 'servers:');
  for (const { server, address } of written) {
    if (address === null) {
      lines.comment(
        2,
        `MCP server ${server.name} (${found(server)}): its address was not copied, because it contains a secret or is not valid`,
      );
      continue;
    }
    lines.add(3, `- name: ${literal(server.name)}`, found(server));
    lines.add(4, `transport: ${server.transport}`);
    for (const { text, comment } of address) lines.add(4, text, comment);
    const env = Object.entries(server.env).map(([name, variable]) => [name, `$env:${variable}`] as const);
    if (env.length > 0) lines.add(4, `env: ${flowMap(env)}`);
  }
}

function addressLines({ url, command, args }: Server): Written[] | null {
  if (command !== null && command !== '') {
    if (holdsSecret(command)) return null;
    return [{ text: `command: ${literal(command)}`, comment: '' }, ...argumentLines(args)];
  }
  const text = url?.text ?? null;
  const variable = url?.variable ?? null;
  if (text !== null && new RegExp(FORMATS.httpUrl.pattern).test(text) && !holdsSecret(text)) {
    const comment = variable === null ? '' : `default of ${variable}`;
    return [{ text: `url: ${scalar(text)}`, comment }];
  }
  return variable === null ? null : [{ text: `url: $env:${variable}`, comment: '' }];
}

function argumentLines(args: readonly string[] | null): Written[] {
  const none = (comment: string): Written[] => [{ text: '# args: []', comment }];
  if (args === null) return none('an argument in the code is not a literal');
  if (args.length === 0) return [];
  if (args.some(holdsSecret)) return none('an argument contains a secret and was not copied');
  return [{ text: `args: ${flowList(args)}`, comment: '' }];
}
