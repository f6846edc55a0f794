import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Manifest } from '../core/manifest/manifest.ts';
import {
  GENERATED_MARK,
  POLICY_FILE_NAMES,
  policyFilesOf,
  type PolicyFiles,
} from '../core/policy/generate.ts';
import { packageSegmentOf } from '../core/policy/package-name.ts';
import { isRecord } from '../core/untrusted/fields.ts';
import { replaceFiles } from '../push/replace-file.ts';
import type { CliContext } from './context.ts';
import { fileFailure } from './file-failure.ts';
import { makeDirectory } from './make-directory.ts';
import { printable } from './rendered.ts';

export type WrittenPolicy = { ok: true; files: string[]; notes: string[] } | { ok: false; reason: string };

/** Writes the three files; writes nothing if one exists that is not a policy of this agent. */
export async function writePolicyDirectory(
  manifest: Manifest,
  out: string,
  { cwd }: Pick<CliContext, 'cwd'>,
): Promise<WrittenPolicy> {
  const directory = resolve(cwd, out);
  const texts = policyFilesOf(manifest);
  try {
    await makeDirectory(directory);
    for (const name of POLICY_FILE_NAMES) {
      const conflict = conflictOf(name, await textAt(join(directory, name)), manifest.metadata.name);
      if (conflict !== null) return refused(`${printable(join(out, name))} ${conflict}; nothing was written`);
    }
    // An engine that watches the directory never reads a partial file.
    await replaceFiles(
      POLICY_FILE_NAMES.map((name) => ({ path: join(directory, name), text: texts[name] })),
      0o666,
    );
  } catch (error) {
    return refused(`cannot write ${printable(out)}: ${causeOf(error)}`);
  }
  return {
    ok: true,
    files: POLICY_FILE_NAMES.map((name) => join(out, name)),
    notes: await notesOn(directory, out),
  };
}

const refused = (reason: string): WrittenPolicy => ({ ok: false, reason });

/** Without the byte order mark and the line ends of Windows, which a rewritten file keeps. */
async function textAt(path: string): Promise<string | null> {
  try {
    return new TextDecoder().decode(await readFile(path)).replaceAll('\r\n', '\n');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Why an existing file must not be replaced; null: no file, or an earlier policy of this agent. */
function conflictOf(name: keyof PolicyFiles, text: string | null, agentName: string): string | null {
  if (text === null) return null;
  const found = name === 'data.json' ? agentInData(text) : agentInRego(text);
  if (found === null) return 'was not created by this command';
  if (found === packageSegmentOf(agentName)) return null;
  return `belongs to another agent (${printable(found)}), and each agent needs its own directory`;
}

function agentInRego(text: string): string | null {
  if (!text.startsWith(`${GENERATED_MARK}\n`)) return null;
  const [, plain, quoted] = /^package platform\.agent(?:_test)?(?:\.(\w+)|\["(\w+)"\])$/m.exec(text) ?? [];
  return plain ?? quoted ?? null;
}

/** JSON has no comments, so a generated file is recognised by its shape. Until 0.2.0 it had no `egress`. */
function agentInData(text: string): string | null {
  try {
    const agents = onlyMember(onlyMember(JSON.parse(text), 'platform'), 'agent');
    const [name, ...others] = Object.keys(agents);
    if (name === undefined || others.length > 0) return null;
    const { egress = {}, ...rest } = agents[name] as Record<string, unknown>;
    onlyMember(rest, 'config');
    return isRecord(egress) ? name : null;
  } catch {
    return null;
  }
}

/** The value of the only member of an object. Throws if the object has another shape. */
function onlyMember(value: unknown, key: string): Record<string, unknown> {
  const [[name, member] = [], ...others] = Object.entries(value as object);
  if (name !== key || others.length > 0 || typeof member !== 'object' || member === null)
    throw new Error('not a generated policy');
  return member as Record<string, unknown>;
}

/** The engine loads every file in its directory: a manifest next to the rules becomes data at the root. */
async function notesOn(directory: string, out: string): Promise<string[]> {
  const own = new Set<string>(POLICY_FILE_NAMES);
  const others = (await readdir(directory)).filter(
    (name) => !own.has(name) && !name.startsWith('.') && /\.(?:rego|json|ya?ml)$/.test(name),
  );
  if (others.length === 0) return [];
  return [
    `note: ${printable(out)} also contains ${others.map(printable).join(', ')}, which the engine would load too; use a separate directory for the policy`,
  ];
}

function causeOf(error: unknown): string {
  return fileFailure(error, {
    ENOENT: 'the directory cannot be created',
    EEXIST: 'it is a file, or a parent path is not a directory',
    ENOTDIR: 'it is a file, or a parent path is not a directory',
    EISDIR: 'a directory has the name of a policy file',
  });
}
