/**
 * The files that the recipes of CONTRIBUTING.md name, relative to the repository, each once.
 * `markdown` is the whole page. A word in backticks is a file or a directory if it has a slash and either ends with one or has an
 * extension. Names with a placeholder (`<name>`), addresses and commands are not files of the repository.
 */
export function recipePaths(markdown: string): string[] {
  const recipes = /^## Recipes$(.*?)^## /ms.exec(markdown)?.[1] ?? '';
  const quoted = [...recipes.matchAll(/`([^`\n]+)`/g)].map(([, word = '']) => word);
  return [...new Set(quoted.filter((word) => PATH.test(word)))];
}

const PATH = /^[\w.@-]+(?:\/[\w.@-]+)*\/(?:[\w@-][\w.@-]*\.[a-z]+)?$/;
