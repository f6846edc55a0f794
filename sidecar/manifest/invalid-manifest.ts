import { basename } from 'node:path';
import { MANIFEST_INVALID_EXIT_CODE } from '../../core/injection/names.ts';
import { describeRefusal, type LoadedManifest } from '../../runtime/manifest-file.ts';
import { StartProblem } from '../../runtime/start-problem.ts';

const SHOWN_PROBLEMS = 5;
const LONGEST_LINE = 300;

/** The failed start of a sidecar whose manifest file at `path` is invalid or missing. */
export function invalidManifest(path: string, loaded: LoadedManifest & { ok: false }): StartProblem {
  const key = basename(path);
  const lines = describeRefusal({ ...loaded, file: key });
  const more = lines.length - SHOWN_PROBLEMS;
  const count = lines.length === 1 ? 'one problem' : `${lines.length} problems`;
  const explanation = [
    `The manifest is not valid: correct the key ${key} of its ConfigMap (volume platform-manifest), "platform validate" lists every problem`,
    ...lines.slice(0, SHOWN_PROBLEMS).map((line) => line.slice(0, LONGEST_LINE)),
    ...(more > 0 ? [`${more} more problems`] : []),
  ].join('\n');
  return new StartProblem(`MANIFEST_PATH ${path} is not a valid manifest: ${count}`, {
    exitCode: MANIFEST_INVALID_EXIT_CODE,
    explanation,
  });
}
