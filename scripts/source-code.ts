// Reads facts about the product from its TypeScript sources, for the pages that no table in the code contains.
import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';

const root = dirname(import.meta.dirname);

/** The first file of each process and library. */
export const PARTS = {
  Sidecar: 'sidecar/main.ts',
  Operator: 'operator/main.ts',
  'Control plane': 'control-plane/main.ts',
  Webhook: 'webhook/main.ts',
  Reporter: 'reporter/index.ts',
} as const;
export type Part = keyof typeof PARTS;

const importedFile = (specifier: string, from: string): string | null =>
  specifier.startsWith('.') ? join(dirname(from), specifier) : null;

/** Packages are not read: their types are not needed, and they are five times the size of the product. */
function createProgram(): ts.Program {
  const options: ts.CompilerOptions = {
    strict: true,
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2024,
    allowImportingTsExtensions: true,
    noEmit: true,
    types: [],
    lib: ['lib.es2024.d.ts'],
  };
  const host: ts.CompilerHost = {
    ...ts.createCompilerHost(options, true),
    resolveModuleNameLiterals: (literals, from) =>
      literals.map(({ text }) => {
        const file = importedFile(text, from);
        return {
          resolvedModule:
            file !== null && file.endsWith('.ts') && existsSync(file)
              ? { resolvedFileName: file, extension: ts.Extension.Ts }
              : undefined,
        };
      }),
  };
  return ts.createProgram(
    Object.values(PARTS).map((file) => join(root, file)),
    options,
    host,
  );
}

let created: ts.Program | undefined;
const program = (): ts.Program => (created ??= createProgram());
export const checker = (): ts.TypeChecker => program().getTypeChecker();

/** The sources that a part runs: its first file and what these files import, without imports of types. */
export function sourcesOf(part: Part): ts.SourceFile[] {
  const found = new Map<string, ts.SourceFile>();
  const add = (path: string): void => {
    const file = program().getSourceFile(path);
    if (file === undefined || found.has(path)) return;
    found.set(path, file);
    for (const specifier of specifiersIn(file)) add(importedFile(specifier, path) ?? '');
  };
  add(join(root, PARTS[part]));
  return [...found.values()].sort((a, b) => (a.fileName < b.fileName ? -1 : 1));
}

function specifiersIn(file: ts.SourceFile): string[] {
  const ofStatements = file.statements.flatMap((each) => {
    if (ts.isImportDeclaration(each))
      return each.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword ? [] : [each.moduleSpecifier];
    return ts.isExportDeclaration(each) && !each.isTypeOnly && each.moduleSpecifier
      ? [each.moduleSpecifier]
      : [];
  });
  const dynamic = nodesIn(file, ts.isCallExpression)
    .filter(({ expression }) => expression.kind === ts.SyntaxKind.ImportKeyword)
    .flatMap((call) => call.arguments.slice(0, 1));
  return [...ofStatements, ...dynamic].filter(ts.isStringLiteral).map(({ text }) => text);
}

export function nodesIn<T extends ts.Node>(tree: ts.Node, is: (node: ts.Node) => node is T): T[] {
  const found: T[] = [];
  const visit = (node: ts.Node): void => {
    if (is(node)) found.push(node);
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

export interface MethodCall {
  receiver: ts.Expression;
  method: string;
  args: ts.NodeArray<ts.Expression>;
  node: ts.CallExpression;
}

/** Every call `receiver.method(...)` in a tree. */
export function methodCallsIn(tree: ts.Node): MethodCall[] {
  return nodesIn(tree, ts.isCallExpression).flatMap((node) =>
    ts.isPropertyAccessExpression(node.expression)
      ? [
          {
            receiver: node.expression.expression,
            method: node.expression.name.text,
            args: node.arguments,
            node,
          },
        ]
      : [],
  );
}

/** The values of an expression whose type is a text or a union of texts; null: other values are possible. */
export function textsOf(node: ts.Expression): string[] | null {
  if (ts.isBinaryExpression(node)) {
    const [left, right] = [textsOf(node.left), textsOf(node.right)];
    return left && right && left.flatMap((start) => right.map((end) => start + end));
  }
  const type = checker().getTypeAtLocation(node);
  const texts = (type.isUnion() ? type.types : [type]).map((each) =>
    each.isStringLiteral() ? each.value : null,
  );
  return texts.includes(null) ? null : (texts as string[]);
}

/** The names of the members of an object, of all variants of a union. */
export function membersOf(node: ts.Expression): string[] {
  const type = checker().getTypeAtLocation(node);
  const variants = type.isUnion() ? type.types : [type];
  const names = variants.flatMap((each) => each.getProperties().map(({ name }) => name));
  if (names.length === 0 || checker().getIndexInfosOfType(type).length > 0)
    throw new Error(`${placeOf(node)}: the members of this object are not known`);
  return [...new Set(names)];
}

/** The value of the declaration that an identifier names; the node itself if it is not an identifier. */
export function valueOf(node: ts.Expression): ts.Node {
  if (!ts.isIdentifier(node)) return node;
  const symbol = checker().getSymbolAtLocation(node);
  const original =
    symbol && symbol.flags & ts.SymbolFlags.Alias ? checker().getAliasedSymbol(symbol) : symbol;
  const declaration = original?.valueDeclaration;
  if (declaration === undefined) return node;
  return ts.isVariableDeclaration(declaration) ? (declaration.initializer ?? node) : declaration;
}

export const fileOf = (node: ts.Node): string => relative(root, node.getSourceFile().fileName);

export function placeOf(node: ts.Node): string {
  const { line } = node.getSourceFile().getLineAndCharacterOfPosition(node.getStart());
  return `${fileOf(node)}:${line + 1}`;
}
