import type { ManifestProblem } from './manifest.ts';

/** One line in the form that editors and terminals turn into a link: `agent.yaml:12:3 spec.tols: unknown key ...`. */
export function describeProblem(file: string, problem: ManifestProblem): string {
  const { path, message, line, column, suggestion } = problem;
  const where = path === '' ? '' : ` ${path}:`;
  const hint = suggestion === undefined ? '' : ` (did you mean ${asYaml(suggestion)}?)`;
  return `${file}:${line}:${column}${where} ${message}${hint}`;
}

/** The suggestion as it is written in the file. Suggestions contain their YAML quotes; numbers and booleans have none. */
export function asYaml(suggestion: string): string {
  return suggestion.startsWith('"') || isPlainYaml(suggestion) ? suggestion : JSON.stringify(suggestion);
}

/** Whether YAML reads the unquoted text as a number or a boolean. */
export function isPlainYaml(text: string): boolean {
  return /^(?:true|false|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/.test(text);
}
