import { createHash } from 'node:crypto';
import type { InForce } from '../core/evidence/stale-proofs.ts';
import type { Manifest } from '../core/manifest/manifest.ts';
import { referenceOf } from '../core/manifest/references.ts';
import { resolveReference, type ReferenceSources } from './references.ts';

export interface InForceInput {
  manifest: Manifest;
  /** SHA-256 of the manifest file, hex. */
  hash: string;
  /** `folder`: the directory of the manifest file. */
  sources: ReferenceSources;
  /** Whether the agent reads its files in this directory. If it does not, a missing prompt file is not known to be missing. */
  isShared: boolean;
}

/** The lock file of the tools, next to the manifest. */
const LOCK = '$file:agent.lock';

/** The values in force that a proof can be bound to. A value that this process cannot read is absent. Never rejects. */
export async function inForceOf({ manifest, hash, sources, isShared }: InForceInput): Promise<InForce> {
  const { model, prompts } = manifest.spec;
  const isFile = referenceOf(prompts?.system ?? '')?.kind === 'file';
  const [id, promptFile, lock] = await Promise.all([
    resolveReference(model.id, sources),
    isFile ? fileHash(prompts?.system ?? '', sources) : null,
    fileHash(LOCK, sources),
  ]);
  return {
    manifest: hash,
    model: id.ok ? id.value : undefined,
    promptFile: promptFile === null && isFile && !isShared ? undefined : promptFile,
    lock,
  };
}

/** SHA-256 of the referenced file, hex; null: it cannot be read; undefined: reading it timed out. */
export async function fileHash(
  reference: string,
  sources: ReferenceSources,
): Promise<string | null | undefined> {
  const file = await resolveReference(reference, sources);
  if (file.ok) return createHash('sha256').update(file.value).digest('hex');
  return file.isLate === true ? undefined : null;
}
