import type { Call, Code } from './code.ts';
import { placeOf, wordAt, type Place, type Source } from './source.ts';
import { optionOf, primaryAt, type CallValue, type Value } from './values.ts';

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
  /** First token of its default. */
  value: number | null;
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
/** Heads of the paths above, unless they are imported under another name. */
const HEAD = /^(?:process|import|Bun|Deno|os|environ|getenv|env)$/;
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
  value: Value,
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
  const add: Add = (name, { source, at, isOptional, fallback = null }) => {
    if (!NAME.test(name) || SYSTEM.test(name)) return;
    const place = placeOf(source, at);
    const known = variables.get(name);
    if (known === undefined) variables.set(name, { name, isOptional, fallback, places: [place] });
    else {
      known.isOptional &&= isOptional;
      known.fallback ??= fallback;
      known.places.push(place);
    }
  };
  for (const source of code.sources)
    for (const at of source.tokens.keys())
      if (HEAD.test(wordAt(source, at)) && wordAt(source, at - 1) !== '.')
        addAccess(code, { source, at }, add);
  for (const call of code.calls()) {
    addSchema(code, call, add);
    addHelper(code, call, add);
  }
  return { variables, fields: settingsFields(code, add) };
}

type Add = (
  name: string,
  found: { source: Source; at: number; isOptional: boolean; fallback?: string | null },
) => void;

function addAccess(code: Code, { source, at }: { source: Source; at: number }, add: Add): void {
  const { value, next } = primaryAt(source, at);
  if (value.kind !== 'name' && value.kind !== 'call') return;
  if (ENVIRONMENT.test(code.qualify(source, value.path))) {
    addDestructured(source, at, add);
    return;
  }
  const hasDefault = /^(?:\?\?|\|\||or)$/.test(wordAt(source, next));
  let link: Value | null = value;
  for (; link !== null; link = receiverOf(link)) {
    const access = accessOf(code, source, link);
    if (access === null) continue;
    const isOptional = hasDefault || access.fallback !== null;
    const fallback = access.fallback ?? (hasDefault ? primaryAt(source, next + 1).value : null);
    add(access.variable, { source, at, isOptional, fallback: literalOf(fallback) });
    return;
  }
}

const receiverOf = (value: Value): CallValue | null =>
  value.kind === 'name' || value.kind === 'call' ? value.receiver : null;

function literalOf(value: Value | null): string | null {
  if (value?.kind === 'text') return value.text;
  return value?.kind === 'number' ? String(value.number) : null;
}

/** `const { A, B = "b", C: c } = process.env`; `at` is the value. */
function addDestructured(source: Source, at: number, add: Add): void {
  const open = source.partner[at - 2] ?? -1;
  if (wordAt(source, at - 1) !== '=' || wordAt(source, at - 2) !== '}' || open < 0) return;
  for (let index = open + 1; index < at - 2; index += 1) {
    const isKey = /^[,{]$/.test(wordAt(source, index - 1)) && source.parent[index] === open;
    if (!isKey) continue;
    const equals = [index + 1, index + 3].find((each) => wordAt(source, each) === '=');
    const hasDefault = equals !== undefined && (equals === index + 1 || wordAt(source, index + 1) === ':');
    const fallback = hasDefault ? literalOf(primaryAt(source, (equals ?? index) + 1).value) : null;
    add(wordAt(source, index), { source, at: index, isOptional: hasDefault, fallback });
  }
}

function addHelper(code: Code, { source, name, value }: Call, add: Add): void {
  const access = HELPER.test(name) || GETTER.test(name) ? accessOf(code, source, value) : null;
  if (access === null || HEAD.test(value.path.split('.')[0] ?? '')) return;
  const fallback = literalOf(access.fallback);
  add(access.variable, { source, at: value.open, isOptional: access.fallback !== null, fallback });
}

/** `z.object({ A: z.string() })` in a file that parses `process.env`. */
function addSchema(code: Code, { source, name, args }: Call, add: Add): void {
  const [shape] = args.positional;
  if (!SCHEMA.test(name) || shape?.kind !== 'object' || !parsesEnvironment(code, source)) return;
  for (const [key, value] of shape.members) {
    const isOptional = value.kind === 'call' && OPTIONAL_SCHEMA.test(value.path);
    const isDefault = value.kind === 'call' && value.path.endsWith('.default');
    const fallback = isDefault ? literalOf(value.args.positional[0] ?? null) : null;
    add(key, { source, at: value.at, isOptional, fallback });
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
    for (const [name, { value, isOptional, at }] of declaration.fields) {
      if (name === 'model_config') continue;
      const field = settingsField(source, { name, value, prefix: declaration.prefix });
      fields.set(name, fields.has(name) ? null : field);
      const fallback = field.value === null ? null : literalOf(primaryAt(source, field.value).value);
      add(field.variable, { source, at, isOptional: isOptional || field.value !== null, fallback });
    }
  }
  return fields;
}

/** `Field(alias="X")` names the variable; `Field(default=1)` and `Field(1)` are its default, `Field(...)` is none. */
function settingsField(
  source: Source,
  { name, value, prefix }: { name: string; value: number | null; prefix: string },
): SettingsField {
  const variable = (prefix + name).toUpperCase();
  const read = value === null ? null : primaryAt(source, value).value;
  if (read?.kind !== 'call' || read.path !== 'Field') return { source, variable, value };
  const alias = optionOf(read.args, ['validation_alias', 'alias', 'env']);
  const fallback = optionOf(read.args, ['default', 'default_factory', 0]);
  return {
    source,
    variable: alias?.kind === 'text' ? alias.text.toUpperCase() : variable,
    value: fallback === null || /^[,)]$/.test(wordAt(source, fallback.at)) ? null : fallback.at,
  };
}
