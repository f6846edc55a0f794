/** The statements of an example agent that its integration consists of, verbatim. */
export interface IntegrationLines {
  /** At the level of the module. */
  module: string[];
  /** In functions, with the indentation of the module. */
  functions: string[];
}

/** Names of the package, and of the variables that hold its objects in the examples. */
const OWN = {
  python:
    /agent_compliance|\b(?:set_default_reporter|default_reporter|current_behavior|behavior)\b|\w\.install\(/,
  js: /agent-compliance\/|\breadFileSync\b|from 'yaml'|\* as agents|\breporter\b|\bcompliance\(|\b(?:PolicyDeniedError|ComplianceHandler|behavior|middleware|members|callbacks)\b|\binstall\(/,
} as const;
const COMMENT = /^\s*(?:#|\/\/|""")/;

const depthOf = (line: string): number =>
  (line.match(/[([{]/g)?.length ?? 0) - (line.match(/[)\]}]/g)?.length ?? 0);

/** Selects the statements by the names in `OWN`, so that an example cannot use a line that its page does not print. */
export function integrationLines(source: string, language: keyof typeof OWN): IntegrationLines {
  const found: IntegrationLines = { module: [], functions: [] };
  const lines = source.split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (COMMENT.test(line) || !OWN[language].test(line)) continue;
    const indentation = /^\s*/.exec(line)?.[0] ?? '';
    const statement = [line];
    for (let depth = depthOf(line); depth > 0; depth += depthOf(statement.at(-1) ?? ''))
      statement.push(lines[(at += 1)] ?? '');
    found[indentation === '' ? 'module' : 'functions'].push(
      ...statement.map((each) => each.slice(indentation.length)),
    );
  }
  return found;
}
