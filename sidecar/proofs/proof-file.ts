import { access, constants, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { count } from '../../core/shapes/common.ts';
import { parseWith, type Field } from '../../core/shapes/field.ts';
import { list, object } from '../../core/shapes/object.ts';
import { sentProof } from '../../core/shapes/proof.ts';
import type { ProofSet } from '../../core/evidence/proof-set.ts';
import { jsonOf } from '../../core/untrusted/fields.ts';
import { replaceFile } from '../../push/replace-file.ts';

/** The proofs of a sidecar, and the control plane's revision that they are based on. */
export type KeptProofs = Pick<ProofSet, 'revision' | 'proofs'>;

const kept: Field<KeptProofs> = object('A proof file.', {
  revision: count('Revision of the control plane; 0: all records were written locally.'),
  proofs: list('The records.', sentProof, { max: 200 }),
});

/** Reads a proof file; a missing file is empty. Throws for other content, which a write would destroy, or if not writable. */
export async function readProofFile(path: string): Promise<KeptProofs> {
  // The file is replaced by renaming, so the directory must be writable.
  await access(dirname(path), constants.W_OK).catch((cause: unknown) => {
    throw new Error(`PROOF_STORE_PATH ${path} cannot be written`, { cause });
  });
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { revision: 0, proofs: [] };
    throw new Error(`PROOF_STORE_PATH ${path} cannot be read`, { cause: error });
  }
  const parsed = parseWith(kept, jsonOf(content));
  if (parsed.ok) return withOrigins(parsed.value);
  const [first] = parsed.errors;
  throw new Error(
    `PROOF_STORE_PATH ${path} is not a valid proof file: ${[first?.path, first?.message].filter(Boolean).join(' ')}`,
  );
}

/** Revision 0 means that all records were written locally, also by an earlier version without origins. */
function withOrigins({ revision, proofs }: KeptProofs): KeptProofs {
  if (revision > 0) return { revision, proofs };
  return { revision, proofs: proofs.map((proof) => ({ ...proof, origin: proof.origin ?? 'local' })) };
}

export async function writeProofFile(path: string, proofs: KeptProofs): Promise<void> {
  await replaceFile(path, `${JSON.stringify(proofs, null, 2)}\n`, 0o600);
}
