/** Modules that the code of a model may import. */
const IMPORTABLE = new Set(
  `base64 collections datetime decimal difflib fractions functools hashlib hmac html httpx itertools json math operator os random re
statistics string textwrap time typing unicodedata urllib uuid zoneinfo`.split(/\s/),
);

/** Modules and functions that are attributes of importable modules, and lead to everything else. */
export const UNSAFE_NAMES =
  /^(?:builtins|bltns|sys|modules|codecs|importlib|subprocess|ctypes|posix|nt|pty|socket|socketserver|shutil|pathlib|tempfile|pickle|marshal|runpy|inspect|gc|signal|threading|multiprocessing|asyncio|attrgetter|methodcaller|get_field|get_type_hints|eval|exec|getattr|setattr|globals|vars|breakpoint|system|popen)$/;
const OS = 'functions of the module os';
/** `import` is a keyword, so each occurrence outside of strings is a statement or an error. */
const IMPORT = /(?:\bfrom\b([\w. ]*?))?\bimport\b *(\([^()]*\)|[^\n;]*)/g;

/** The code without its import statements, or the first import that a tool does not need. */
export function withoutImports(code: string): { rest: string; problem: string | null } {
  let problem: string | null = null;
  const rest = code.replaceAll(IMPORT, (_, from: string | undefined, list: string) => {
    problem ??= problemOf(from, list);
    return '';
  });
  return { rest, problem };
}

function problemOf(from: string | undefined, list: string): string | null {
  const names = list
    .replaceAll(/[()]/g, '')
    .split(',')
    .map((each) => each.trim().replaceAll(/\s+/g, ' '));
  if (names.length > 1 && names.at(-1) === '') names.pop();
  for (const name of names) {
    const [, path = '', alias = ''] = /^([\w.]+)(?: as (\w+))?$/.exec(name) ?? [];
    const problem = from === undefined ? moduleProblem(path, alias) : memberProblem(from.trim(), path, alias);
    if (problem !== null) return problem;
  }
  return null;
}

function moduleProblem(path: string, alias: string): string | null {
  const [top = '', ...parts] = path.split('.');
  if (top === '') return 'the code imports its own project';
  if (!IMPORTABLE.has(top)) return `the code imports ${top}`;
  if (top === 'os' && (parts.length > 0 || alias !== '')) return `the code contains ${OS}`;
  const unsafe = parts.find(isUnsafe);
  return unsafe === undefined ? null : `the code imports ${unsafe}`;
}

function memberProblem(from: string, name: string, alias: string): string | null {
  if (from === 'os') return /^(?:environ|getenv)$/.test(name) ? null : `the code contains ${OS}`;
  const problem = moduleProblem(from, alias);
  if (problem !== null) return problem;
  return name === '' || name === 'os' || name.includes('.') || isUnsafe(name)
    ? `the code imports ${name === '' ? 'no name' : name} from ${from}`
    : null;
}

const isUnsafe = (name: string): boolean => name.startsWith('_') || UNSAFE_NAMES.test(name);
