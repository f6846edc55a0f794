import type { Call, Code } from './code.ts';
import type { SyntaxNode } from '@lezer/common';
import { patternOf } from './imports.ts';
import { placeOf, textOf, type Place, type Source } from './source.ts';
import { assignedTo, chainFrom } from './syntax.ts';
import { defaultIn, optionOf, valueOf, type Value } from './values.ts';

/** An environment variable that the code reads. */
export interface Variable {
  name: string;
  /** Whether the code has a default, or accepts that the variable is not set. */
  isOptional: boolean;
  /** Default, if it is a literal. */
  fallback: string | null;
  places: Place[];
}

/** A field of a settings class that a variable sets. */
interface SettingsField {
  source: Source;
  variable: string;
  /** Its default. */
  value: SyntaxNode | null;
}

export interface Environment {
  variables: ReadonlyMap<string, Variable>;
  /** By name; null: several settings classes have a field of this name. */
  fields: ReadonlyMap<string, SettingsField | null>;
}

const ENVIRONMENT = /^(?::process\.env|(?:node:)?process:env|:import\.meta\.env|:Bun\.env|os:environ)$/;
const MEMBER =
  /^(?::process\.env|(?:node:)?process:env|:import\.meta\.env|:Bun\.env|os:environ)\.([A-Z][A-Z0-9_]*)(?=[.([]|$)/;
const GETTER =
  /^(?:os:getenv|os:environ\.(?:get|pop)|:Deno\.env\.get|decouple:config|environs:Env\(\)(?:\.\w+)?)$/;
/** A function of the agent that reads the variable of its first argument, such as `requireEnv`. */
const HELPER = /^:(?:[\w.]+\.)?\w*[eE]nv(?:_?[a-zA-Z]\w*)?$/;
const NAME = /^[A-Z][A-Z0-9_]*$/;
const SETTINGS_CLASS = /^(?:pydantic_settings|pydantic):BaseSettings$/;
const SCHEMA = /^zod(?:\/\w+)?:(?:z\.)?(?:object|strictObject|looseObject)$/;
const OPTIONAL_SCHEMA = /\.(?:optional|nullish|default|catch|prefault)\b/;
/** Variables of the system and of development tools, which are no requirement of an agent. */
const SYSTEM =
  /^(?:NODE_ENV|NODE_OPTIONS|HOME|PATH|USER|PWD|SHELL|LANG|TERM|TZ|TMPDIR|CI|HOSTNAME|NO_COLOR|PYTHON\w*|npm_\w+)$/;

/** The variable that a value reads, with its default; null: the value does not read a variable. */
export function accessOf(
  code: Code,
  source: Source,
  value: Value | { kind: 'name'; path: string },
): { variable: string; fallback: Value | null } | null {
  if (value.kind !== 'name' && value.kind !== 'call') return null;
  const name = code.qualify(source, value.path);
  const member = MEMBER.exec(name)?.[1];
  if (member !== undefined) return { variable: member, fallback: null };
  const isHelper = HELPER.test(name);
  if (value.kind !== 'call' || !(isHelper || GETTER.test(name))) return null;
  const [key] = value.args.positional;
  if (key?.kind !== 'text' || !NAME.test(key.text) || (isHelper && !key.text.includes('_'))) return null;
  return { variable: key.text, fallback: optionOf(value.args, [1, 'default']) };
}

export function environmentOf(code: Code): Environment {
  const variables = new Map<string, Variable>();
  const add: Add = (name, { source, node, isOptional, fallback }) => {
    if (!NAME.test(name) || SYSTEM.test(name)) return;
    const place = placeOf(source, node);
    const known = variables.get(name);
    if (known === undefined) variables.set(name, { name, isOptional, fallback, places: [place] });
    else {
      known.isOptional &&= isOptional;
      known.fallback ??= fallback;
      known.places.push(place);
    }
  };
  const calls = new Map(code.calls().map((call) => [call.value.node, call]));
  for (const source of code.sources)
    for (const node of source.nodes) {
      const call = calls.get(node);
      if (call !== undefined) addSchema(code, call, add);
      if (node.name === 'ObjectPattern') addDestructured(code, { source, node }, add);
      else if (call !== undefined) addAccess(code, { source, value: call.value }, add);
      else if (node.name === 'MemberExpression' && textOf(source, node).includes('env'))
        addAccess(code, { source, value: valueOf(source, node) }, add);
    }
  return { variables, fields: settingsFields(code, add) };
}

type Add = (
  name: string,
  found: { source: Source; node: SyntaxNode; isOptional: boolean; fallback: string | null },
) => void;

function addAccess(code: Code, { source, value }: { source: Source; value: Value }, add: Add): void {
  const access = accessOf(code, source, value);
  if (access === null || !isWhole(code, source, value)) return;
  const parts = defaultIn(source, chainFrom(value.node).parent);
  const second = parts !== null && parts[0].from === value.node.from ? valueOf(source, parts[1]) : null;
  const isOptional = access.fallback !== null || second !== null;
  const fallback = literalIn(access.fallback ?? second);
  add(access.variable, { source, node: value.node, isOptional, fallback });
}

/** Whether a value is what reads the variable, and not a part of the chain behind it. */
const isWhole = (code: Code, source: Source, value: Value): boolean => {
  const name = value.kind === 'name' || value.kind === 'call' ? code.qualify(source, value.path) : '';
  return value.kind === 'call' ? !MEMBER.test(name) : MEMBER.exec(name)?.[0].length === name.length;
};

function literalIn(value: Value | null): string | null {
  if (value?.kind === 'text') return value.text;
  return value?.kind === 'number' ? String(value.number) : null;
}

/** `const { A, B = "b", C: c } = process.env`. */
function addDestructured(code: Code, { source, node }: { source: Source; node: SyntaxNode }, add: Add): void {
  const from = assignedTo(node);
  const value = from === null ? null : valueOf(source, from);
  if (value?.kind !== 'name' || !ENVIRONMENT.test(code.qualify(source, value.path))) return;
  for (const { key, node: member, fallback } of patternOf(source, node)) {
    const text = fallback === null ? null : literalIn(valueOf(source, fallback));
    add(key, { source, node: member, isOptional: fallback !== null, fallback: text });
  }
}

/** `z.object({ A: z.string() })` in a file that parses `process.env`. */
function addSchema(code: Code, { source, name, args }: Call, add: Add): void {
  const [shape] = args.positional;
  if (!SCHEMA.test(name) || shape?.kind !== 'object' || !parsesEnvironment(code, source)) return;
  for (const [key, value] of shape.members) {
    const isOptional = value.kind === 'call' && OPTIONAL_SCHEMA.test(value.path);
    const isDefault = value.kind === 'call' && value.path.endsWith('.default');
    const fallback = isDefault ? literalIn(value.args.positional[0] ?? null) : null;
    add(key, { source, node: value.node, isOptional, fallback });
  }
}

function parsesEnvironment(code: Code, source: Source): boolean {
  return code.calls().some(({ source: owner, value }) => {
    const [argument] = value.args.positional;
    return (
      owner === source &&
      /\.(?:safeP|p)arse(?:Async)?$/.test(value.path) &&
      argument?.kind === 'name' &&
      ENVIRONMENT.test(code.qualify(source, argument.path))
    );
  });
}

/** Fields of pydantic's settings classes: `model_name: str = "x"` reads MODEL_NAME. */
function settingsFields(code: Code, add: Add): Map<string, SettingsField | null> {
  const fields = new Map<string, SettingsField | null>();
  for (const { source, declaration } of code.classes) {
    if (!declaration.bases.some((base) => SETTINGS_CLASS.test(code.qualify(source, base)))) continue;
    for (const [name, { value, isOptional, node }] of declaration.fields) {
      if (name === 'model_config') continue;
      const field = settingsField(source, { name, value, prefix: declaration.prefix });
      fields.set(name, fields.has(name) ? null : field);
      const fallback = field.value === null ? null : literalIn(valueOf(source, field.value));
      add(field.variable, { source, node, isOptional: isOptional || field.value !== null, fallback });
    }
  }
  return fields;
}

/** `Field(alias="X")` names the variable; `Field(default=1)` and `Field(1)` are its default, `Field(...)` is none. */
function settingsField(
  source: Source,
  { name, value, prefix }: { name: string; value: SyntaxNode | null; prefix: string },
): SettingsField {
  const variable = (prefix + name).toUpperCase();
  const read = value === null ? null : valueOf(source, value);
  if (read?.kind !== 'call' || read.path !== 'Field') return { source, variable, value };
  const alias = optionOf(read.args, ['validation_alias', 'alias', 'env']);
  const fallback = optionOf(read.args, ['default', 'default_factory', 0]);
  return {
    source,
    variable: alias?.kind === 'text' ? alias.text.toUpperCase() : variable,
    value: fallback === null || fallback.node.name === 'Ellipsis' ? null : fallback.node,
  };
}
