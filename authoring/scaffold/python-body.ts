import { bodyText, unusable, type Body } from './body-text.ts';
import { UNSAFE_NAMES, withoutImports } from './python-imports.ts';
import { pythonSource } from './python-source.ts';

/** Constructs that the body of a tool does not need, in code without strings and imports. The text in brackets is for the user. */
const FORBIDDEN: readonly (readonly [pattern: RegExp, shown: string])[] = [
  [/__/, 'names with two underscores'],
  [/\.\s*_/, 'attributes that begin with an underscore'],
  [
    /(?<![.\w])(?:eval|exec|compile|globals|locals|vars|breakpoint|getattr|setattr|delattr)\b/,
    'eval, exec, getattr or similar functions',
  ],
  [/(?<![.\w])open\b(?!\s*=[^=])|(?<![.\w])(?:input|exit|quit)\s*\(/, 'open, input or exit'],
  [/\b(?:SystemExit|KeyboardInterrupt|BaseException|GeneratorExit)\b/, 'exceptions that end the process'],
  [/\b(?:async|await|yield|global|nonlocal)\b/, 'async, yield or global'],
  [/\bos\b(?!\s*\.\s*(?:environ|getenv)\b)/, 'functions of the module os'],
  [/^(?:def|class) run\b/m, 'a whole function'],
];

/**
 * Checks the body of a Python function as far as possible without Python. Checked are the ends of strings, brackets and indentation, so
 * that the body ends where the function ends; the imported modules; and the names in the code, but not in strings and comments. It is
 * not compiled, so it can have syntax errors, and this is no sandbox: the code can read variables and call any address.
 */
export function pythonBody(text: string): Body {
  const body = bodyText(text);
  if (!body.ok) return body;
  const source = pythonSource(body.code);
  if (!source.ok) return unusable(source.reason);
  const { rest, problem } = withoutImports(source.code);
  if (problem !== null) return unusable(problem);
  const found = FORBIDDEN.find(([pattern]) => pattern.test(rest));
  if (found !== undefined) return unusable(`the code contains ${found[1]}`);
  const attribute = [...rest.matchAll(/\.\s*([A-Za-z]\w*)/g)].find(([, name = '']) =>
    UNSAFE_NAMES.test(name),
  );
  if (attribute !== undefined) return unusable(`the code contains the attribute ${attribute[1]}`);
  return /\breturn\b/.test(rest) ? body : unusable('the code returns nothing');
}

/** Environment variables that the code of a tool reads by name. */
export function pythonVariables(code: string): string[] {
  const read = /\b(?:environ(?:\.get)?|getenv)\s*[[(]\s*(["'])([A-Za-z_]\w*)\1/g;
  return [...code.matchAll(read)].map(([, , name = '']) => name);
}
