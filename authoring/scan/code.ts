import type { SyntaxNode } from '@lezer/common';
import { assignmentsOf, classesOf, functionsOf, type ClassDeclaration } from './declarations.ts';
import type { FunctionDeclaration } from './declarations.ts';
import { accessOf, environmentOf, type Environment } from './environment.ts';
import { importsOf, type Imports } from './imports.ts';
import { isTest, placeOf, sourceOf, type Place, type Source, type SourceFile } from './source.ts';
import { optionOf, valueOf, type Arguments, type CallValue, type Value } from './values.ts';

/** What is known of a value: its text, the environment variable that sets it, or both if the text is the default. */
export interface Setting {
  text: string | null;
  variable: string | null;
}

/** A call in the code. */
export interface Call {
  source: Source;
  /** Qualified name of what is called; `Code.qualify` describes it. */
  name: string;
  value: CallValue;
  args: Arguments;
  place: Place;
}

interface Declared<T> {
  source: Source;
  declaration: T;
}

const MAX_STEPS = 8;
/** A longer path is not the name of a known function, and every pattern would be tried on it. */
const MAX_PATH = 400;
const CAST =
  /(?:^|[:.])(?:int|float|str|Number|parseInt|parseFloat|String|Path|PurePath|URL|SecretStr|HttpUrl|Field|default)$/;

/** Whether a file is the module of this name: `models.ts`, `models/index.ts` or `models/__init__.py`. */
const isNamed = ({ path }: Source, name: string): boolean =>
  path
    .replace(/(?:\/(?:index|__init__))?\.\w+$/, '')
    .split('/')
    .at(-1) === name;

/** The files of an agent, and what a name or a value in them stands for. */
export class Code {
  /** All files except tests. */
  readonly sources: readonly Source[];
  readonly tests: readonly Source[];
  readonly environment: Environment;
  readonly classes: readonly Declared<ClassDeclaration>[];
  readonly #functions: ReadonlyMap<string, Declared<FunctionDeclaration>[]>;
  readonly #imports = new Map<Source, Imports>();
  readonly #assignments = new Map<Source, ReadonlyMap<string, readonly SyntaxNode[]>>();
  readonly #values = new Map<Source, Map<number, Value>>();
  #calls: readonly Call[] | null = null;

  constructor(files: readonly SourceFile[]) {
    const all = files.map(sourceOf);
    this.tests = all.filter(({ path }) => isTest(path));
    this.sources = all.filter(({ path }) => !isTest(path));
    for (const source of all) this.#imports.set(source, importsOf(source));
    for (const source of this.sources) this.#assignments.set(source, assignmentsOf(source));
    this.classes = this.sources.flatMap((source) =>
      classesOf(source).map((declaration) => ({ source, declaration })),
    );
    this.#functions = Map.groupBy(
      this.sources.flatMap((source) =>
        [...functionsOf(source).values()].map((declaration) => ({ source, declaration })),
      ),
      ({ declaration }) => declaration.name,
    );
    this.environment = environmentOf(this);
  }

  /** Modules that a file imports. */
  modules(source: Source): Imports['modules'] {
    return this.#imports.get(source)?.modules ?? new Map();
  }

  importsModule(pattern: RegExp): boolean {
    return this.sources.some((source) => [...this.modules(source).keys()].some((name) => pattern.test(name)));
  }

  /** Every call, those inside of other calls included. */
  calls(): readonly Call[] {
    this.#calls ??= this.sources.flatMap((source) =>
      source.nodes.flatMap((node) => {
        const value = /^(?:Call|New)Expression$/.test(node.name) ? valueOf(source, node) : null;
        if (value?.kind !== 'call') return [];
        const { path, args, open } = value;
        return [{ source, name: this.qualify(source, path), value, args, place: placeOf(source, open) }];
      }),
    );
    return this.#calls;
  }

  /**
   * The name of what a dotted path stands for: `module:name` for what is imported, with `()` after what was called.
   * `client.chat` of `client = OpenAI()` is `openai:OpenAI().chat`. The module is empty if the origin is not known.
   */
  qualify(source: Source, path: string, steps = 0): string {
    const [, head = '', rest = ''] = /^((?:(?:self|this)\.)?[^.(]*)(.*)$/s.exec(path) ?? [];
    if (steps > MAX_STEPS || path.length > MAX_PATH) return ':';
    const binding = this.#imports.get(source)?.bindings.get(head);
    if (binding !== undefined && !this.#isOwn(binding.module, binding.name)) {
      const isMember = rest.startsWith('.');
      if (binding.name === '' || binding.name === 'default')
        return `${binding.module}:${isMember ? rest.slice(1) : `default${rest}`}`;
      return `${binding.module}:${binding.name}${rest}`;
    }
    const assigned = this.assigned(source, head);
    if (assigned?.value.kind === 'call')
      return `${this.qualify(assigned.source, assigned.value.path, steps + 1)}()${rest}`;
    if (assigned?.value.kind === 'name' && assigned.value.path !== head)
      return this.qualify(assigned.source, assigned.value.path + rest, steps + 1);
    return `:${path}`;
  }

  /** Whether a module is in the scanned directory, by its name. */
  isOwnModule(module: string): boolean {
    if (/^(?:\.|\/|[@~]\/|#)/.test(module)) return true;
    const [top = ''] = module.split('.');
    return this.sources.some(({ path }) => {
      const [first = ''] = path.replace(/^src\//, '').split('/');
      return first === top || first === `${top}.py`;
    });
  }

  /** Another package can have the name of a directory of the project. A module of the project declares what is imported from it. */
  #isOwn(module: string, name: string): boolean {
    return module.startsWith('.') || (this.isOwnModule(module) && this.#isDeclared(name));
  }

  #isDeclared(name: string): boolean {
    return (
      this.#functions.has(name) ||
      this.classes.some(({ declaration }) => declaration.name === name) ||
      this.sources.some((source) => this.#assignments.get(source)?.has(name))
    );
  }

  /** The only value of a name of a file, also if the name is imported from another file; null: it has none or several. */
  assigned(source: Source, name: string): { source: Source; value: Value } | null {
    const valueIn = (owner: Source, key: string) => {
      const [node, other] = this.#assignments.get(owner)?.get(key) ?? [];
      return node === undefined || other !== undefined
        ? null
        : { source: owner, value: this.#valueOf(owner, node) };
    };
    if (this.#assignments.get(source)?.has(name)) return valueIn(source, name);
    const binding = this.#imports.get(source)?.bindings.get(name);
    if (binding === undefined || !this.#isOwn(binding.module, binding.name)) return null;
    const owners = this.sources.filter(
      (each) => each.language === source.language && this.#assignments.get(each)?.has(binding.name),
    );
    const [stem = ''] = binding.module
      .replace(/\.[cm]?[jt]s$/, '')
      .split(/[./]/)
      .slice(-1);
    const [owner, other] = owners.length > 1 ? owners.filter((each) => isNamed(each, stem)) : owners;
    return owner === undefined || other !== undefined ? null : valueIn(owner, binding.name);
  }

  /** Values are read once: a name may be used very often. */
  #valueOf(source: Source, node: SyntaxNode): Value {
    const values = this.#values.get(source) ?? new Map<number, Value>();
    this.#values.set(source, values);
    const value = values.get(node.from) ?? valueOf(source, node);
    values.set(node.from, value);
    return value;
  }

  /** The only Python function of this name. */
  functionNamed(name: string): Declared<FunctionDeclaration> | null {
    const [found, other] = this.#functions.get(name) ?? [];
    return found === undefined || other !== undefined ? null : found;
  }

  /** An option of a call; null: the call does not have it, or nothing is known of its value. */
  setting(
    { source, args }: Pick<Call, 'source' | 'args'>,
    keys: readonly (string | number)[],
  ): Setting | null {
    const value = optionOf(args, keys);
    return value === null ? null : this.resolve(source, value);
  }

  /** The literal text of an option, or the default of its variable. */
  textOption(call: Pick<Call, 'source' | 'args'>, keys: readonly (string | number)[]): string | null {
    return this.setting(call, keys)?.text ?? null;
  }

  /** The text of a field of a class. */
  fieldText(source: Source, { fields }: ClassDeclaration, name: string): string | null {
    const node = fields.get(name)?.value ?? null;
    return node === null ? null : (this.resolve(source, this.#valueOf(source, node))?.text ?? null);
  }

  resolve(source: Source, value: Value, steps = 0): Setting | null {
    if (steps > MAX_STEPS) return null;
    switch (value.kind) {
      case 'text':
        return { text: value.text, variable: null };
      case 'number':
        return { text: String(value.number), variable: null };
      case 'either': {
        const first = this.resolve(source, value.first, steps + 1);
        const second = this.resolve(source, value.second, steps + 1);
        if (second === null || (first !== null && first.text !== null)) return first;
        return { text: second.text, variable: first?.variable ?? second.variable };
      }
      case 'call':
        return this.#resolveCall(source, value, steps);
      case 'name':
        return this.#resolveName(source, value.path, steps);
      default:
        return null;
    }
  }

  #resolveCall(source: Source, value: CallValue, steps: number): Setting | null {
    const access = accessOf(this, source, value);
    if (access !== null) {
      const fallback = access.fallback === null ? null : this.resolve(source, access.fallback, steps + 1);
      return { text: fallback?.text ?? null, variable: access.variable };
    }
    if (/\.(?:get_secret_value|strip|trim|toString|split)$/.test(value.path))
      return value.receiver === null
        ? this.#resolveName(source, value.path.slice(0, value.path.lastIndexOf('.')), steps)
        : this.#resolveCall(source, value.receiver, steps + 1);
    const argument = optionOf(value.args, ['default', 0]);
    return CAST.test(value.path) && argument !== null ? this.resolve(source, argument, steps + 1) : null;
  }

  #resolveName(source: Source, path: string, steps: number): Setting | null {
    const access = accessOf(this, source, { kind: 'name', path });
    if (access !== null) return { text: null, variable: access.variable };
    const assigned = this.#memberValue(source, path);
    if (assigned !== null && assigned.value.kind !== 'unknown') {
      const resolved = this.resolve(assigned.source, assigned.value, steps + 1);
      if (resolved !== null) return resolved;
    }
    const last = path.split('.').at(-1) ?? '';
    const declared = path.includes('.') ? this.environment.fields.get(last) : undefined;
    if (declared !== undefined && declared !== null) {
      const fallback =
        declared.value === null
          ? null
          : this.resolve(declared.source, this.#valueOf(declared.source, declared.value), steps + 1);
      return { text: fallback?.text ?? null, variable: declared.variable };
    }
    const variable = this.environment.variables.get(last);
    return variable === undefined ? null : { text: variable.fallback, variable: last };
  }

  /** The value of a name, or of a member of an object that is assigned to a name. */
  #memberValue(source: Source, path: string): { source: Source; value: Value } | null {
    const own = this.assigned(source, path);
    if (own !== null) return own;
    const [head = '', ...rest] = path.split('.');
    const object = this.assigned(source, head);
    if (object === null || rest.length === 0) return null;
    let { value } = object;
    for (const key of rest) {
      const member = value.kind === 'object' ? value.members.get(key) : undefined;
      if (member === undefined) return null;
      value = member;
    }
    return { source: object.source, value };
  }
}
