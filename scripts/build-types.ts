// Generates the reporter's type declarations for both module systems into dist/reporter or the given directory. Separate
// from the bundles, because the compiler takes longer than all bundles together. Run by scripts/pack.ts.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';
import { INTEGRATIONS } from './integrations.ts';

const root = dirname(import.meta.dirname);
/** Sources by the name of their declarations. */
const ENTRIES: ReadonlyMap<string, string> = new Map([
  ['index', 'reporter/index'],
  ...INTEGRATIONS.map((name) => [`integrations/${name}`, `reporter/integrations/${name}`] as const),
]);
const directory = resolve(process.argv[2] ?? join(root, 'dist/reporter'));

/** Declaration text by module, such as `core/health/health`. */
function declarations(): Map<string, string> {
  const read = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path));
  const { compilerOptions } = read.config as { compilerOptions: unknown };
  const { options, errors } = ts.convertCompilerOptionsFromJson(compilerOptions, root);
  if (errors.length > 0) throw new Error(ts.formatDiagnostics(errors, formatHost));
  const entries = [...ENTRIES.values()].map((entry) => join(root, `${entry}.ts`));
  const program = ts.createProgram(entries, {
    ...options,
    noEmit: false,
    incremental: false,
    declaration: true,
    emitDeclarationOnly: true,
    // `npm run typecheck` checks the types.
    noCheck: true,
    rootDir: root,
    outDir: root,
  });
  const texts = new Map<string, string>();
  const { diagnostics } = program.emit(undefined, (path, text) => {
    texts.set(relative(root, path).replace(/\.d\.ts$/, ''), text);
  });
  if (diagnostics.length > 0) throw new Error(ts.formatDiagnostics(diagnostics, formatHost));
  return texts;
}

const formatHost: ts.FormatDiagnosticsHost = {
  getCurrentDirectory: () => root,
  getCanonicalFileName: (name) => name,
  getNewLine: () => '\n',
};

const isRelative = (specifier: string): boolean => specifier.startsWith('.');

/** The declarations that the types of the entries need. */
function reachable(texts: ReadonlyMap<string, string>): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (module: string): void => {
    if (found.has(module)) return;
    const text = texts.get(module);
    if (text === undefined) throw new Error(`no declaration of ${module}`);
    found.set(module, text);
    for (const { fileName } of ts.preProcessFile(text).importedFiles)
      if (isRelative(fileName))
        visit(relative(root, resolve(root, dirname(module), fileName)).replace(/\.ts$/, ''));
  };
  for (const entry of ENTRIES.values()) visit(entry);
  return found;
}

rmSync(join(directory, 'types'), { recursive: true, force: true });
for (const [module, text] of reachable(declarations())) {
  const file = join(directory, 'types', `${module}.d.ts`);
  mkdirSync(dirname(file), { recursive: true });
  // Sources import .ts files; published declarations must refer to .js files.
  writeFileSync(file, text.replaceAll(/((?:from |import\()(['"])\.[^'"]*)\.ts\2/g, '$1.js$2'));
}
for (const [name, entry] of ENTRIES) {
  const file = join(directory, name);
  mkdirSync(dirname(file), { recursive: true });
  const types = relative(dirname(file), join(directory, 'types', entry));
  for (const extension of ['d.ts', 'd.mts'])
    writeFileSync(
      `${file}.${extension}`,
      `export * from '${types.startsWith('.') ? types : `./${types}`}.js';\n`,
    );
}
