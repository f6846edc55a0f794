import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { labelFrom } from '../../authoring/import/names.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { Code } from '../../authoring/scan/code.ts';
import { collect } from '../../authoring/scan/collect.ts';
import { draftOf, type Draft } from '../../authoring/scan/draft.ts';
import { manifestText, type ManifestOptions } from '../../authoring/scan/manifest-text.ts';
import { promptFiles } from '../../authoring/scan/prompts.ts';
import { passedCalls, propose, type Observation } from '../../authoring/scan/propose.ts';
import type { CliContext } from '../context.ts';
import { createFile } from '../create-file.ts';
import { causeOf, exists } from '../file-failure.ts';
import { DEFAULT_MANIFEST, defaultManifest } from '../manifest-argument.ts';
import { readDirectory } from '../scan/read-directory.ts';

const HEAD =
  'Written by "platform run --learn". A comment names the calls, and the places in the code, that show a value.';

/** The manifest of an agent that has none yet. */
export interface Learning {
  draft: Draft;
  /** For the sidecar: what the code shows. */
  manifest: Manifest;
  /** Of a temporary file. */
  path: string;
  remove: () => Promise<void>;
}

/** What the code in the working directory shows, in a temporary file; without code an example. */
export async function startLearning({ cwd }: Pick<CliContext, 'cwd'>): Promise<Learning> {
  const { files, others } = await readDirectory(cwd).catch(() => ({ files: [], others: [] }));
  const code = new Code(files);
  const draft = draftOf(collect(code), code, promptFiles(code, others));
  const { text, manifest } = textOf(draft, { cwd, relative: () => null });
  const folder = await mkdtemp(join(tmpdir(), 'platform-run-'));
  const path = join(folder, 'agent.yaml');
  await writeFile(path, text);
  return { draft, manifest, path, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Writes the manifest of what was seen to `file`, or to a new file next to it if it exists. Nothing is overwritten. */
export async function finishLearning(
  { draft }: Learning,
  observation: Observation,
  { file, cwd }: { file: string; cwd: string },
): Promise<{ ok: true; file: string } | { ok: false; reason: string }> {
  if (passedCalls(observation.calls).length === 0) {
    const last = observation.calls.at(-1);
    const status = last === undefined ? '' : ` (the last one had status ${last.statusCode ?? 'unknown'})`;
    return { ok: false, reason: `no call succeeded${status}, so no file was written` };
  }
  // The code names prompts relative to the working directory.
  const relative = dirname(file) === '.' ? (path: string) => path : () => null;
  const { text } = textOf(propose(observation, draft), { cwd, relative });
  // A manifest with another usual name would no longer be read.
  const hasOther = file === DEFAULT_MANIFEST && (await defaultManifest({ cwd })) !== null;
  const target = await freeName(file, cwd, hasOther ? 1 : 0);
  try {
    await createFile(resolve(cwd, target), text);
    return { ok: true, file: target };
  } catch (error) {
    return { ok: false, reason: `cannot write ${target}: ${causeOf(error)}` };
  }
}

function textOf(
  draft: Draft,
  { cwd, relative }: { cwd: string } & Pick<ManifestOptions, 'relative'>,
): { text: string; manifest: Manifest } {
  const name = labelFrom(basename(cwd)) ?? 'my-agent';
  const text = manifestText(draft, { name, metadata: null, head: HEAD, relative });
  const parsed = parseManifest(text);
  if (!parsed.ok)
    throw new Error(`the proposed manifest is not valid: ${JSON.stringify(parsed.problems[0])}`);
  return { text, manifest: parsed.manifest };
}

/** `agent.yaml`, else `agent.learned.yaml`, `agent.learned-2.yaml` and so on. */
async function freeName(file: string, cwd: string, from: number): Promise<string> {
  const [, stem = file, ending = ''] = /^(.*?)(\.[^./\\]+)?$/s.exec(file) ?? [];
  for (let number = from; ; number += 1) {
    const name = number === 0 ? file : `${stem}.learned${number === 1 ? '' : `-${number}`}${ending}`;
    if (!(await exists(resolve(cwd, name)))) return name;
  }
}
