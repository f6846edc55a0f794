import type { ManifestProblem } from './manifest.ts';

/** One line, in the form that editors and terminals make a link of: `agent.yaml:12:3 spec.tols: unknown key ...`. */
export function describeProblem(file: string, problem: ManifestProblem): string {
  const { path, message, line, column, suggestion } = problem;
  const where = path === '' ? '' : ` ${path}:`;
  const meant = suggestion === undefined ? '' : ` (did you mean ${quoted(suggestion)}?)`;
  return `${file}:${line}:${column}${where} ${message}${meant}`;
}

/** A suggestion may bring its own quotes: the ones that the YAML value needs. */
function quoted(suggestion: string): string {
  return suggestion.startsWith('"') ? suggestion : JSON.stringify(suggestion);
}
