import { bodyText, unusable, type Body } from './body-text.ts';

/** Modules that the code of a model may import. */
const IMPORTABLE = new Set([
  ...[
    'base64',
    'collections',
    'datetime',
    'decimal',
    'difflib',
    'fractions',
    'functools',
    'hashlib',
    'hmac',
    'html',
  ],
  ...[
    'httpx',
    'itertools',
    'json',
    'math',
    'operator',
    'os',
    'random',
    're',
    'statistics',
    'string',
    'textwrap',
  ],
  ...['time', 'typing', 'unicodedata', 'urllib', 'uuid', 'zoneinfo'],
]);

/** Constructs that the body of a tool does not need. The text in brackets is for the user. */
const FORBIDDEN: readonly (readonly [pattern: RegExp, shown: string])[] = [
  [/__/, 'names with two underscores'],
  [
    /(?<![.\w])(?:eval|exec|compile|globals|locals|vars|breakpoint|getattr|setattr|delattr)\b/,
    'eval, exec, getattr or similar functions',
  ],
  [/(?<![.\w])(?:open|input|exit|quit)\s*\(/, 'open, input or exit'],
  [/\b(?:BaseException|SystemExit|KeyboardInterrupt|GeneratorExit)\b/, 'exceptions that end the process'],
  [/\b(?:async|await|yield|global|nonlocal)\b/, 'async, yield or global'],
  // `import os`, then only its environment.
  [/(?<!\bimport )\bos\b(?!\s*\.\s*(?:environ|getenv)\b)/, 'functions of the module os'],
  [/\bimport os\b(?!\s*(?:$|#|;))/m, 'functions of the module os'],
  [/^(?:def|class) run\b/m, 'a whole function'],
];

/**
 * Checks the body of a Python function as far as possible without Python: it ends where the function ends, imports only modules
 * of the list, and contains no construct that the body of a tool does not need. This is not a sandbox.
 */
export function pythonBody(text: string): Body {
  const body = bodyText(text);
  if (!body.ok) return body;
  const { code } = body;
  const structure = brokenStructure(code);
  if (structure !== null) return unusable(structure);
  const found = FORBIDDEN.find(([pattern]) => pattern.test(code));
  if (found !== undefined) return unusable(`the code contains ${found[1]}`);
  const module = importedModules(code).find((each) => !IMPORTABLE.has(each));
  if (module !== undefined) return unusable(`the code imports ${module === '' ? 'its own project' : module}`);
  return /\breturn\b/.test(code) ? body : unusable('the code returns nothing');
}

/** Strings, comments and brackets. A quote that remains does not begin a complete string. */
const TOKEN =
  /#[^\n]*|("""|''')(?:\\[^]|(?!\1)[^\\])*\1|"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'|[()[\]{}]|["']/g;
const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

function brokenStructure(code: string): string | null {
  if (/^\s/.test(code)) return 'the first line of the code is indented';
  if (/\\(?:\n|$)/.test(code)) return 'the code contains a line continuation';
  const open: string[] = [];
  for (const [token] of code.matchAll(TOKEN)) {
    if (token === '"' || token === "'") return 'a string in the code does not end';
    const closing = CLOSING[token];
    if (closing !== undefined) open.push(closing);
    else if (')]}'.includes(token) && open.pop() !== token) return 'the brackets in the code do not match';
  }
  return open.length === 0 ? null : 'the brackets in the code do not match';
}

/** Top-level names of imported modules; empty: a relative import. */
function importedModules(code: string): string[] {
  const statements = code.matchAll(
    /(?:^|;|:)[ ]*(?:from\s+([\w.]*)[^\n;]*?\bimport\b|import\s+([^\n;#]+))/gm,
  );
  return [...statements].flatMap(([, from, list]) =>
    (from === undefined ? (list ?? '').split(',') : [from]).map(
      (each) => each.trim().split(/[\s.]/)[0] ?? '',
    ),
  );
}
