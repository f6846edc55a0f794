import type { ManifestProblem } from './manifest.ts';

/** One line, in the form that editors and terminals make a link of: `agent.yaml:12:3 spec.tols: unknown key ...`. */
export function describeProblem(file: string, problem: ManifestProblem): string {
  const { path, message, line, column, suggestion } = problem;
  const where = path === '' ? '' : ` ${path}:`;
  const meant = suggestion === undefined ? '' : ` (did you mean ${quoted(suggestion)}?)`;
  return `${file}:${line}:${column}${where} ${message}${meant}`;
}

/** As it is to be written: a suggestion brings the quotes that its YAML value needs, and a number or a flag has none. */
function quoted(suggestion: string): string {
  return suggestion.startsWith('"') || isPlainYaml(suggestion) ? suggestion : JSON.stringify(suggestion);
}

/** Whether YAML reads the text, without quotes, as a number or a flag. */
export function isPlainYaml(text: string): boolean {
  return /^(?:true|false|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/.test(text);
}
