import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Manifest } from '../core/manifest/manifest.ts';
import {
  GENERATED_MARK,
  POLICY_FILE_NAMES,
  policyFilesOf,
  type PolicyFiles,
} from '../core/policy/generate.ts';
import { packageSegmentOf } from '../core/policy/package-name.ts';
import type { CliContext } from './context.ts';
import { fileFailure } from './file-failure.ts';
import { makeFolder } from './make-folder.ts';
import { printable } from './rendered.ts';

export type WrittenPolicy = { ok: true; files: string[]; notes: string[] } | { ok: false; reason: string };

/** Writes the three files, or none when one of them is there and is not this agent's own. */
export async function writePolicyFolder(
  manifest: Manifest,
  out: string,
  { cwd }: Pick<CliContext, 'cwd'>,
): Promise<WrittenPolicy> {
  const folder = resolve(cwd, out);
  const texts = policyFilesOf(manifest);
  try {
    await makeFolder(folder);
    for (const name of POLICY_FILE_NAMES) {
      const strange = strangeness(name, await textAt(join(folder, name)), manifest.metadata.name);
      if (strange !== null) return refused(join(out, name), `${strange}: nothing was written`);
    }
    await replaceAll(folder, texts);
  } catch (error) {
    return refused(out, `cannot be written: ${causeOf(error)}`);
  }
  return {
    ok: true,
    files: POLICY_FILE_NAMES.map((name) => join(out, name)),
    notes: await notesOn(folder, out),
  };
}

const refused = (path: string, reason: string): WrittenPolicy => ({
  ok: false,
  reason: `${printable(path)} ${reason}`,
});

async function textAt(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Why a file that is there must stay; null: it is an earlier policy of this agent, or not there. */
function strangeness(name: keyof PolicyFiles, text: string | null, agentName: string): string | null {
  if (text === null) return null;
  const found = name === 'data.json' ? agentInData(text) : agentInRego(text);
  if (found === null) return 'was not made by this command';
  if (found === packageSegmentOf(agentName)) return null;
  return `is the policy of another agent (${printable(found)}), and each agent needs a folder of its own`;
}

function agentInRego(text: string): string | null {
  if (!text.startsWith(`${GENERATED_MARK}\n`)) return null;
  const [, plain, quoted] = /^package platform\.agent(?:_test)?(?:\.(\w+)|\["(\w+)"\])$/m.exec(text) ?? [];
  return plain ?? quoted ?? null;
}

/** JSON has no comments to tell its maker: it is known by its shape. */
function agentInData(text: string): string | null {
  try {
    const agents = onlyMember(onlyMember(JSON.parse(text), 'platform'), 'agent');
    const [name, ...others] = Object.keys(agents);
    if (name === undefined || others.length > 0) return null;
    onlyMember(agents[name], 'config');
    return name;
  } catch {
    return null;
  }
}

/** The value of the only member of an object. Throws when the object is another. */
function onlyMember(value: unknown, key: string): Record<string, unknown> {
  const [[name, member] = [], ...others] = Object.entries(value as object);
  if (name !== key || others.length > 0 || typeof member !== 'object' || member === null)
    throw new Error('not ours');
  return member as Record<string, unknown>;
}

/** An engine that watches the folder never reads half a file; a failure leaves what was there. */
async function replaceAll(folder: string, texts: PolicyFiles): Promise<void> {
  const moves = POLICY_FILE_NAMES.map((name) => ({
    name,
    from: join(folder, `.${name}.${process.pid}.tmp`),
    to: join(folder, name),
  }));
  try {
    for (const { name, from } of moves) await writeFile(from, texts[name]);
    for (const { from, to } of moves) await rename(from, to);
  } finally {
    await Promise.all(moves.map(({ from }) => rm(from, { force: true })));
  }
}

/** The engine loads whatever is in its folder: a manifest beside the rules becomes data at the root. */
async function notesOn(folder: string, out: string): Promise<string[]> {
  const own = new Set<string>(POLICY_FILE_NAMES);
  const others = (await readdir(folder)).filter(
    (name) => !own.has(name) && !name.startsWith('.') && /\.(?:rego|json|ya?ml)$/.test(name),
  );
  if (others.length === 0) return [];
  return [
    `note: ${printable(out)} also holds ${others.map(printable).join(', ')}, which the engine would load too; give the policy a folder of its own`,
  ];
}

function causeOf(error: unknown): string {
  return fileFailure(error, {
    ENOENT: 'no folder can be made there',
    EEXIST: 'it is a file, or a part of its path is no folder',
    ENOTDIR: 'it is a file, or a part of its path is no folder',
    EISDIR: 'a folder stands where a file of the policy goes',
  });
}
