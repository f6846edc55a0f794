import type { Code } from './code.ts';
import { placeOf, stringsOf, type Place } from './source.ts';

const PROMPT_FILE = /\.(?:md|txt|prompt|j2|jinja2?|mustache|hbs|ya?ml)$/i;
const PROMPT_WORDS = /prompt|system|instruction/i;

/**
 * Files of prompts that the code names in a string, such as `prompts/system.md` or `system.md`. A name that fits several files
 * stands for none of them.
 * @param files paths of the scanned directory that are not code
 */
export function promptFiles(code: Code, files: readonly string[]): { path: string; place: Place }[] {
  const candidates = files.filter((path) => PROMPT_FILE.test(path) && PROMPT_WORDS.test(path));
  return code.sources.flatMap((source) =>
    stringsOf(source).flatMap(({ node, literal }) => {
      if (!PROMPT_FILE.test(literal)) return [];
      const name = literal.replace(/^(?:\.{1,2}\/)+/, '');
      const exact = candidates.find((path) => path === name);
      const [found, other] = candidates.filter((path) => path.endsWith(`/${name}`));
      const path = exact ?? (other === undefined ? found : undefined);
      return path === undefined ? [] : [{ path, place: placeOf(source, node) }];
    }),
  );
}
