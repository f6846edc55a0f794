import type { Place, SourceFile } from './source.ts';

/** `base_url="https://…"`, `baseURL: 'https://…'` and similar options of clients. */
const BASE_URL = /\b(?:base_?url|api_base|azure_endpoint)["']?\s*[:=]\s*["'`]https?:\/\//i;
const COMMENT = /^\s*(?:#|\/\/|\*)/;

/** The places where the code sets the base URL of a client itself, so that a variable has no effect. */
export function baseUrlsIn(files: readonly SourceFile[]): Place[] {
  return files.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, index) =>
        BASE_URL.test(line) && !COMMENT.test(line) ? [{ file: path, line: index + 1 }] : [],
      ),
  );
}
