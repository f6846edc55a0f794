import type { Code } from './code.ts';
import { decoratorsOf } from './declarations.ts';
import type { Discovery, Found } from './discovery.ts';
import type { CallRow, ClassRow, DecoratorRow, ImportRow, ObjectRow } from './row.ts';
import { API_CALLS, API_DECORATORS } from './rows/api.ts';
import { GUARDRAIL_CALLS, GUARDRAIL_DECORATORS, GUARDRAIL_OBJECTS } from './rows/guardrails.ts';
import { IMPORT_ROWS } from './rows/imports.ts';
import { MCP_OBJECTS, MCP_ROWS } from './rows/mcp.ts';
import { MODEL_ROWS } from './rows/models.ts';
import { STORE_ROWS } from './rows/stores.ts';
import { BUILTIN_TOOLS, TOOL_CALLS, TOOL_CLASSES, TOOL_DECORATORS } from './rows/tools.ts';
import { TOOL_LISTS, TOOL_OBJECTS } from './rows/tools.ts';
import { placeOf, type Place, type Source } from './source.ts';
import { argumentsIn, valueOf } from './values.ts';

/** Every pattern. In a table of calls, the first row that finds something in a call decides. */
export interface Patterns {
  imports: readonly ImportRow[];
  calls: readonly (readonly CallRow[])[];
  decorators: readonly DecoratorRow[];
  classes: readonly ClassRow[];
  objects: readonly ObjectRow[];
}

export const PATTERNS: Patterns = {
  imports: IMPORT_ROWS,
  calls: [
    MODEL_ROWS,
    TOOL_CALLS,
    BUILTIN_TOOLS,
    TOOL_LISTS,
    MCP_ROWS,
    GUARDRAIL_CALLS,
    STORE_ROWS,
    API_CALLS,
  ],
  decorators: [...TOOL_DECORATORS, ...GUARDRAIL_DECORATORS, ...API_DECORATORS],
  classes: TOOL_CLASSES,
  objects: [...TOOL_OBJECTS, ...GUARDRAIL_OBJECTS, ...MCP_OBJECTS],
};

/** Everything that the patterns find, in the order of the files and their lines. */
export function collect(code: Code, patterns: Patterns = PATTERNS): Discovery[] {
  const order = new Map(code.sources.map(({ path }, index) => [path, index]));
  return [
    ...decoratedFunctions(code, patterns.decorators),
    ...calls(code, patterns.calls),
    ...classes(code, patterns.classes),
    ...objects(code, patterns.objects),
    ...imports(code, patterns.imports),
  ].toSorted(
    ({ place: a }, { place: b }) =>
      (order.get(a.file) ?? order.size) - (order.get(b.file) ?? order.size) || a.line - b.line,
  );
}

type Row = Pick<CallRow, 'language' | 'needs'>;

/** Whether the agent imports what each row needs; each pattern is looked up once. */
function applicable(code: Code): (row: Row, source: Source) => boolean {
  const known = new Map<RegExp, boolean>();
  const imported = (pattern: RegExp): boolean => {
    const found = known.get(pattern) ?? code.importsModule(pattern);
    known.set(pattern, found);
    return found;
  };
  return ({ language, needs }, source) =>
    (language === 'any' || language === source.language) && (needs === undefined || imported(needs));
}

const at = (place: Place, found: readonly Found[]): Discovery[] => found.map((each) => ({ ...each, place }));

function imports(code: Code, rows: readonly ImportRow[]): Discovery[] {
  const find = (source: Source, own: readonly ImportRow[]): Discovery[] =>
    [...code.modules(source)].flatMap(([module, place]) => {
      const row = own.find(
        ({ language, name }) => (language === 'any' || language === source.language) && name.test(module),
      );
      return row === undefined || code.isOwnModule(module) ? [] : at(place, row.found);
    });
  return [
    ...code.sources.flatMap((source) => find(source, rows)),
    ...code.tests.flatMap((source) =>
      find(
        source,
        rows.filter(({ inTests }) => inTests),
      ),
    ),
  ];
}

function calls(code: Code, tables: readonly (readonly CallRow[])[]): Discovery[] {
  const applies = applicable(code);
  return code.calls().flatMap((call) =>
    tables.flatMap((table) => {
      for (const row of table) {
        if (!row.name.test(call.name) || !applies(row, call.source)) continue;
        const found = row.read(call, code);
        if (found.length > 0) return at(call.place, found);
      }
      return [];
    }),
  );
}

function decoratedFunctions(code: Code, rows: readonly DecoratorRow[]): Discovery[] {
  const applies = applicable(code);
  return code.sources.flatMap((source) =>
    decoratorsOf(source).flatMap((decorator) => {
      const name = code.qualify(source, decorator.path);
      const row = rows.find((each) => each.name.test(name) && applies(each, source));
      if (row === undefined) return [];
      const call = decorator.open === null ? null : { source, args: argumentsIn(source, decorator.open) };
      const place = placeOf(source, decorator.function.node);
      return at(place, row.read({ source, decorator, call }, code));
    }),
  );
}

function classes(code: Code, rows: readonly ClassRow[]): Discovery[] {
  const applies = applicable(code);
  return code.classes.flatMap(({ source, declaration }) => {
    const bases = declaration.bases.map((base) => code.qualify(source, base));
    const row = rows.find((each) => bases.some((base) => each.name.test(base)) && applies(each, source));
    const place = placeOf(source, declaration.node);
    return row === undefined ? [] : at(place, row.read({ source, declaration }, code));
  });
}

function objects(code: Code, rows: readonly ObjectRow[]): Discovery[] {
  const applies = applicable(code);
  return code.sources.flatMap((source) =>
    source.nodes.flatMap((node) => {
      const value = /^(?:Object|Dictionary)Expression$/.test(node.name) ? valueOf(source, node) : null;
      if (value?.kind !== 'object') return [];
      return [...value.members].flatMap(([key, member]) => {
        const row = rows.find(
          (each) =>
            each.key === key &&
            (each.value === undefined || (member.kind === 'text' && each.value.test(member.text))) &&
            applies(each, source),
        );
        if (row === undefined) return [];
        return at(placeOf(source, member.node), row.read({ source, value }, code));
      });
    }),
  );
}
