import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { MAX_MANIFEST_BYTES } from '../../core/manifest/parse-manifest.ts';
import { present } from '../../core/untrusted/present.ts';
import { notFound } from '../admin-key.ts';
import type { CliContext } from '../context.ts';
import { readCauseOf } from '../file-failure.ts';
import { shownUrl } from '../sidecar-request.ts';
import { decodeText } from '../source-files.ts';
import { fetchSource } from './fetch-source.ts';

/** Selects the cluster for `kagent:` sources. */
export interface SourceOptions {
  kubeconfig?: string;
  context?: string;
}

/** `name`: for messages, without the password or the query of a URL. */
export type SourceText = { ok: true; name: string; text: string } | { ok: false; reason: string };

const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;
const KAGENT = /^kagent:([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\/([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)$/;

/** Reads `--from`: a file, `-`, an http(s) URL, or `kagent:<namespace>/<name>`. Never rejects. */
export async function readSource(
  from: string,
  options: SourceOptions,
  context: CliContext,
): Promise<SourceText> {
  if (from.startsWith('kagent:')) return await readAgent(from, options, context);
  if (options.kubeconfig !== undefined || options.context !== undefined)
    return notFound('--kubeconfig and --context are only for --from kagent:<namespace>/<name>');
  if (SCHEME.test(from)) return await readUrl(from);
  const name = from === '-' ? 'standard input' : from;
  try {
    const bytes = await readBytes(from, context);
    if (bytes.length > MAX_MANIFEST_BYTES) return notFound(`${name} exceeds the maximum size of 1 MiB`);
    return { ok: true, name, text: decodeText(bytes) };
  } catch (error) {
    return notFound(`cannot read ${name}: ${readCauseOf(error)}`);
  }
}

async function readUrl(from: string): Promise<SourceText> {
  const url = URL.parse(from);
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    return notFound('the URL of --from is not a valid http(s) URL');
  const fetched = await fetchSource(url);
  if (!fetched.ok) return fetched;
  const name = shownUrl(url);
  try {
    return { ok: true, name, text: decodeText(fetched.value) };
  } catch (error) {
    return notFound(`the response of ${name} ${readCauseOf(error)}`);
  }
}

/** At most one byte more than allowed, so that a large or endless file is only detected. */
async function readBytes(path: string, { cwd, stdin }: CliContext): Promise<Uint8Array> {
  if (path !== '-') return await buffer(createReadStream(resolve(cwd, path), { end: MAX_MANIFEST_BYTES }));
  if (stdin === undefined) throw new Error('no standard input');
  return await stdin();
}

async function readAgent(from: string, options: SourceOptions, context: CliContext): Promise<SourceText> {
  const [, namespace, name] = KAGENT.exec(from) ?? [];
  if (namespace === undefined || name === undefined)
    return notFound('--from kagent: must be followed by <namespace>/<name>');
  const { readKagentAgent } = await import('../cluster/main.ts');
  const { kubeconfig, context: contextName } = options;
  const selection = { ...present({ kubeconfig, context: contextName }), namespace };
  const result = await readKagentAgent({ namespace, name }, selection, context);
  return result.ok ? { ok: true, name: from, text: result.report } : result;
}
