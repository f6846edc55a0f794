import { createHash } from 'node:crypto';
import { basename, dirname, resolve } from 'node:path';
import { cycloneDx, type ObservedItem, type SpecVersion } from '../authoring/bom/cyclonedx.ts';
import type { Manifest } from '../core/manifest/manifest.ts';
import { referenceOf } from '../core/manifest/references.ts';
import { parseReady } from '../core/observation/parse-evidence.ts';
import { fileHash } from '../probe/in-force.ts';
import type { LoadedManifest } from '../runtime/manifest-file.ts';
import { VERSION } from '../runtime/version.ts';
import { notFound } from './admin-key.ts';
import { parseMatrix } from './egress/reports.ts';
import { json, printable } from './rendered.ts';
import { failureText, requestJson, shownUrl } from './sidecar-request.ts';

export type BillOfMaterials = { ok: true; text: string } | { ok: false; reason: string };

interface Options {
  /** Path of the manifest, as typed. */
  file: string;
  /** The control port of a sidecar; undefined: only what the manifest declares. */
  url: URL | undefined;
  specVersion: SpecVersion;
  cwd: string;
}

/** The CycloneDX document as JSON. Never rejects. */
export async function billOfMaterials(
  { manifest, hash: manifestHash }: LoadedManifest & { ok: true },
  { file, url, specVersion, cwd }: Options,
): Promise<BillOfMaterials> {
  const fileHashes = await hashesOf(manifest, dirname(resolve(cwd, file)));
  const observed = url === undefined ? null : await observedItems(manifest, url);
  if (observed?.ok === false) return observed;
  const about = { file: basename(file), version: VERSION, specVersion };
  const document = cycloneDx({ manifest, manifestHash, fileHashes, observed, ...about });
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(document))}`;
  return { ok: true, text: json({ ...document, serialNumber }) };
}

/** A UUID of version 8 from the content. */
function uuidOf(content: string): string {
  const hex = createHash('sha256').update(content).digest('hex');
  const variant = '89ab'[Number.parseInt(hex[16] ?? '0', 16) % 4];
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `${variant}${hex.slice(17, 20)}`]
    .concat(hex.slice(20, 32))
    .join('-');
}

/** The hash of the prompt file, if it can be read. */
async function hashesOf(manifest: Manifest, folder: string): Promise<Map<string, string>> {
  const system = manifest.spec.prompts?.system ?? '';
  const sources = { env: null, folder, secretDir: null, now: () => new Date(0) };
  const sha256 = referenceOf(system)?.kind === 'file' ? await fileHash(system, sources) : null;
  return new Map(sha256 ? [[referenceOf(system)?.name ?? '', sha256]] : []);
}

/** What the sidecar of the agent observed. */
async function observedItems(
  { metadata: { name } }: Manifest,
  base: URL,
): Promise<{ ok: true; url: string; items: ObservedItem[] } | { ok: false; reason: string }> {
  try {
    const url = shownUrl(base);
    const { agentName } = await requestJson(base, '/health/ready', parseReady);
    if (agentName !== name)
      return notFound(
        `the sidecar at ${url} belongs to agent "${printable(agentName)}", but the manifest is for "${name}"`,
      );
    const rows = await requestJson(base, '/explore?view=matrix', parseMatrix);
    return { ok: true, url, items: rows.filter(({ observed }) => observed === true) };
  } catch (error) {
    return notFound(failureText(error));
  }
}
