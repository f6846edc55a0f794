/** A name ends in `*` if it is a prefix. */
type Row = readonly [tool: 'promptfoo' | 'garak', names: string, rules: readonly string[]];

/**
 * The rules that a test shows, by the names of tests, never by numbers of a list: the tools do not state its edition. Names
 * without a row are ignored.
 */
const ROWS: readonly Row[] = [
  [
    'promptfoo',
    'indirect-prompt-injection ascii-smuggling hijacking system-prompt-override prompt-extraction',
    ['SEC-LLM-01'],
  ],
  ['garak', 'promptinject latentinjection dan encoding', ['SEC-LLM-01']],
  ['promptfoo', 'harmful:* shell-injection sql-injection ssrf', ['SEC-LLM-02']],
  ['garak', 'lmrc realtoxicityprompts xss', ['SEC-LLM-02']],
  ['promptfoo', 'pii:* cross-session-leak', ['SEC-LLM-06', 'MEM-01']],
  ['promptfoo', 'excessive-agency rbac bola bfla mcp tool-discovery', ['SEC-LLM-08']],
  ['promptfoo', 'hallucination overreliance', ['EVAL-03']],
  ['garak', 'misleading', ['EVAL-03']],
];

/** The rule for a data set without such a name. A proof of it also counts for the rules that need an evaluation. */
const EVALUATION = 'EVAL-01';

/** The rules that a test shows; none: its name is not known. `name`: null for a data set of the user. */
export function rulesOfTest(tool: string, name: string | null): readonly string[] {
  if (name === null) return [EVALUATION];
  const row = ROWS.find(
    ([of, names]) => of === tool && names.split(' ').some((pattern) => matches(pattern, name)),
  );
  return row?.[2] ?? [];
}

const matches = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
