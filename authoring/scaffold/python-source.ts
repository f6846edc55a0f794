/** A Python body without its texts: what is left are the names, operators and brackets that Python sees. */
export type PythonSource = { ok: true; code: string } | { ok: false; reason: string };

const broken = (reason: string): PythonSource => ({ ok: false, reason });

/** Comments, strings and brackets. A quote that remains does not begin a complete string. */
const TOKEN =
  /#[^\n]*|(?:(?<![\p{L}\p{N}_])([a-z]{1,2}))?(?:("""|''')((?:\\[^]|(?!\2)[^\\])*)\2|"((?:\\[^]|[^"\\\n])*)"|'((?:\\[^]|[^'\\\n])*)')|["']/giu;
/** Content of an f-string that every version of Python reads in the same way: strings in its fields have no braces and no `#`. */
const FIELD = /\{(?!\{)((?:[^{}'"#\\]|'[^'{}#\\\n]*'|"[^"{}#\\\n]*"|\{[^{}'"#\\]*\})*)\}/;
const FORMATTED = new RegExp(`^(?:[^{}]|\\{\\{|\\}\\}|${FIELD.source})*$`);
const FIELDS = new RegExp(`\\{\\{|\\}\\}|${FIELD.source}`, 'g');
const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/**
 * Removes comments, and the content of strings except the fields of f-strings. Fails if strings, brackets or indentation are not those
 * of a program. Python itself may still find errors: nothing here parses expressions and statements.
 */
export function pythonSource(text: string): PythonSource {
  if (/^\s/.test(text)) return broken('the first line of the code is indented');
  if (/\\(?:\n|$)/.test(text)) return broken('the code contains a line continuation');
  const problems: string[] = [];
  const code = text.replaceAll(TOKEN, (...match: string[]) => {
    const [token = '', prefix = '', , long, double, single] = match;
    if (token.startsWith('#')) return '';
    const content = long ?? double ?? single;
    if (content === undefined) problems.push('a string in the code does not end');
    else if (/[ft]/i.test(prefix)) {
      if (FORMATTED.test(content)) return fieldsOf(content);
      problems.push('a field of an f-string in the code is not simple');
    }
    return '""';
  });
  const problem = problems[0] ?? (/[^\n -~]/.test(code) ? NOT_ASCII : null) ?? structureProblem(code);
  return problem === null ? { ok: true, code } : broken(problem);
}

/** Python reads some of these characters as ASCII letters. */
const NOT_ASCII = 'the code contains characters outside ASCII in names';

function fieldsOf(content: string): string {
  const fields = [...content.matchAll(FIELDS)].flatMap(([, field]) => (field === undefined ? [] : [field]));
  const names = fields.map((field) => field.replaceAll(/'[^']*'|"[^"]*"/g, '""'));
  return `(${names.join('\n')})`;
}

/** Brackets, and the indentation of the lines that are in none. */
function structureProblem(code: string): string | null {
  const open: string[] = [];
  const levels = [0];
  let opensBlock = false;
  for (const line of code.split('\n')) {
    if (line.trim() === '') continue;
    if (open.length === 0) {
      const width = line.length - line.trimStart().length;
      const isDeeper = width > (levels.at(-1) ?? 0);
      if (isDeeper !== opensBlock) return 'the indentation of the code does not fit';
      if (isDeeper) levels.push(width);
      while (width < (levels.at(-1) ?? 0)) levels.pop();
      if (width !== levels.at(-1)) return 'the indentation of the code does not fit';
    }
    for (const [bracket] of line.matchAll(/[()[\]{}]/g)) {
      const closing = CLOSING[bracket];
      if (closing !== undefined) open.push(closing);
      else if (open.pop() !== bracket) return 'the brackets in the code do not match';
    }
    opensBlock = open.length === 0 && line.trimEnd().endsWith(':');
  }
  if (open.length > 0) return 'the brackets in the code do not match';
  return opensBlock ? 'the indentation of the code does not fit' : null;
}
