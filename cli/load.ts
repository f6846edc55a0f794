import { resolve } from 'node:path';
import { manifestWarnings } from '../core/manifest/manifest-warnings.ts';
import { describeRefusal, loadManifestFile, type LoadedManifest } from '../runtime/manifest-file.ts';
import type { CliContext } from './context.ts';
import { failed, json, type Rendered } from './rendered.ts';

export type InvalidManifest = LoadedManifest & { ok: false };

/** Loads a manifest; messages show the path as typed. */
export async function load(file: string, { cwd }: Pick<CliContext, 'cwd'>): Promise<LoadedManifest> {
  return await loadManifestFile(resolve(cwd, file), file);
}

/** Result of a command that needs a valid manifest. */
export function invalidManifest(loaded: InvalidManifest, isJson: boolean | undefined): Rendered {
  const error = loaded.unreadable === true ? 'the manifest cannot be read' : 'the manifest is not valid';
  const body = { error, problems: problemObjects(loaded) };
  return failed(problemLines(loaded), isJson ? json(body) : '');
}

/** Error lines for standard error. */
export function problemLines(loaded: InvalidManifest): string {
  return describeRefusal(loaded)
    .map((line) => `error: ${line}\n`)
    .join('');
}

export function problemObjects(loaded: InvalidManifest): object[] {
  return loaded.problems.map(({ path, message, line, column, suggestion }) => ({
    path,
    message,
    file: loaded.file,
    line,
    column,
    ...(suggestion === undefined ? {} : { suggestion }),
  }));
}

function warningObjects({ warnings = [] }: InvalidManifest): { warnings?: object[] } {
  return warnings.length === 0 ? {} : { warnings: warnings.map(({ path, message }) => ({ path, message })) };
}

/** Result of `platform validate --json`. */
export function validationOf(loaded: LoadedManifest): Record<string, unknown> {
  if (!loaded.ok) return { valid: false, problems: problemObjects(loaded), ...warningObjects(loaded) };
  const { apiVersion, metadata } = loaded.manifest;
  return {
    valid: true,
    agentName: metadata.name,
    version: metadata.version,
    apiVersion,
    problems: [],
    warnings: manifestWarnings(loaded.manifest),
  };
}
