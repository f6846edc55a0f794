import { manifestWarnings } from '../../core/manifest/manifest-warnings.ts';
import { MANIFEST_SCHEMA } from '../../core/manifest/schema.ts';
import { describeRefusal, type LoadedManifest } from '../../runtime/manifest-file.ts';
import { done, failed, json, printable, type Rendered } from '../rendered.ts';

/** `validate <file>`: valid, with warnings on standard error, or every problem with its position. */
export function renderValidation(loaded: LoadedManifest, options: { json: boolean }): Rendered {
  if (options.json) return { ...done(json(validationOf(loaded))), exitCode: loaded.ok ? 0 : 1 };
  if (!loaded.ok) return renderProblems(loaded);
  const { name, version } = loaded.manifest.metadata;
  return {
    ...done(`${loaded.file} is valid: ${name} ${version}\n`),
    errors: manifestWarnings(loaded.manifest)
      .map(({ path, message }) => `warning: ${loaded.file}: ${path}: ${printable(message)}\n`)
      .join(''),
  };
}

/** Problems in a file are the result, on standard output; an unreadable file is an error. */
function renderProblems(loaded: LoadedManifest & { ok: false }): Rendered {
  if (loaded.unreadable === true) return failed(problemLines(loaded));
  const count = loaded.problems.length;
  return failed(
    `error: ${loaded.file} is not valid: ${count} ${count === 1 ? 'problem' : 'problems'}\n`,
    `${problemText(loaded)}\n`,
  );
}

/** One line for each problem. */
export function problemText(loaded: LoadedManifest & { ok: false }): string {
  return describeRefusal(loaded).join('\n');
}

/** Error lines for standard error, used by every command that needs a valid manifest. */
export function problemLines(loaded: LoadedManifest & { ok: false }): string {
  return describeRefusal(loaded)
    .map((line) => `error: ${line}\n`)
    .join('');
}

function validationOf(loaded: LoadedManifest): Record<string, unknown> {
  if (!loaded.ok) return { valid: false, problems: problemObjects(loaded) };
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

export function problemObjects(loaded: LoadedManifest & { ok: false }): object[] {
  return loaded.problems.map(({ path, message, line, column, suggestion }) => ({
    path,
    message,
    file: loaded.file,
    line,
    column,
    ...(suggestion === undefined ? {} : { suggestion }),
  }));
}

/** `validate --schema` */
export function renderSchema(): Rendered {
  return done(json(MANIFEST_SCHEMA));
}
