import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ResourceTemplate, type McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { ErrorCode, McpError, type ReadResourceResult } from '@modelcontextprotocol/sdk/types.js';
import { MANIFEST_SCHEMA } from '../../core/manifest/schema.ts';
import { notFound, type Found } from '../admin-key.ts';
import { readCauseOf } from '../file-failure.ts';
import { decodeText } from '../source-files.ts';
import { EXPLANATIONS } from './explain.ts';
import { allowedFile, findManifests } from './manifest-files.ts';
import type { CallContext } from './tool.ts';

export const SCHEMA_URI = 'agent-compliance://schema';
export const RULES_URI = 'agent-compliance://rules';
const MANIFEST_TYPE = 'application/yaml';
/** A larger manifest would not be read by a model as a whole. */
const MAX_BYTES = 256 * 1024;

type FileContext = Pick<CallContext, 'cwd' | 'roots'>;

/** Resources: the schema, all rules, and the manifests below the roots. */
export function registerResources(
  server: McpServer,
  context: FileContext,
  track: <T>(work: Promise<T>) => Promise<T>,
): void {
  server.registerResource(
    'schema',
    SCHEMA_URI,
    {
      title: 'JSON Schema of manifests',
      description: 'Every key of agent.yaml with its meaning, limits and examples (JSON Schema 2020-12).',
      mimeType: 'application/schema+json',
    },
    ({ href }) => jsonAt(href, MANIFEST_SCHEMA, 'application/schema+json'),
  );
  server.registerResource(
    'rules',
    RULES_URI,
    {
      title: 'Rules',
      description:
        'All compliance rules, policy rules, gap issues and manifest changes that explain_rule explains.',
      mimeType: 'application/json',
    },
    ({ href }) => jsonAt(href, EXPLANATIONS, 'application/json'),
  );
  const list = async () => ({ resources: (await findManifests(context.roots)).map(resourceOf) });
  server.registerResource(
    'manifests',
    new ResourceTemplate('file:///{+path}', { list: () => track(list()) }),
    {
      title: 'Agent manifests',
      description: 'The manifests (agent.yaml and similar names) below the directories of this server.',
      mimeType: MANIFEST_TYPE,
    },
    (uri) => track(manifestAt(uri, context)),
  );
}

function jsonAt(uri: string, value: unknown, mimeType: string): ReadResourceResult {
  return { contents: [{ uri, mimeType, text: JSON.stringify(value) }] };
}

const resourceOf = (path: string) => ({
  uri: pathToFileURL(path).href,
  name: basename(path),
  title: path,
  mimeType: MANIFEST_TYPE,
});

async function manifestAt(uri: URL, context: FileContext): Promise<ReadResourceResult> {
  const read = await textAt(uri, context);
  if (!read.ok) throw new McpError(ErrorCode.InvalidParams, `${uri.pathname} ${read.reason}`);
  return { contents: [{ uri: uri.href, mimeType: MANIFEST_TYPE, text: read.value }] };
}

async function textAt(uri: URL, context: FileContext): Promise<Found<string>> {
  try {
    const allowed = await allowedFile(fileURLToPath(uri), context);
    if (!allowed.ok) return allowed;
    const { size } = await stat(allowed.value);
    return size > MAX_BYTES
      ? notFound(`has ${size} bytes; at most ${MAX_BYTES} are read`)
      : { ok: true, value: decodeText(await readFile(allowed.value)) };
  } catch (error) {
    return notFound(readCauseOf(error));
  }
}
