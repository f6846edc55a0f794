import { fieldOf, flag, oneOf, parseWith, text, withDefault, type Field } from '../../core/shapes/field.ts';
import { list, object, type TypeOf } from '../../core/shapes/object.ts';
import type { Code } from './code.ts';
import { paragraphOf } from './declarations.ts';
import { MAX_ITEMS, type Draft, type Item } from './draft.ts';
import { HINTS, type ToolFound } from './discovery.ts';
import { GUARDRAIL_TYPES } from './rows/guardrails.ts';
import { placeOf, stringsOf, textOf, type Place } from './source.ts';

const SIDES = ['input', 'output'] as const;

const line = withDefault(text('A description.', { cut: 500 }), '');
const name = text('A name.', { cut: 200 });
/** At most MAX_ITEMS entries, the rest is not read. Without the limit in the schema, because vendors do not accept it there. */
function many<T>(about: string, of: Field<T>): Field<T[]> {
  const all = list(about, of);
  return fieldOf(
    (value, path, errors) =>
      all(Array.isArray(value) ? value.slice(0, MAX_ITEMS) : (value ?? []), path, errors),
    () => all.returns,
  );
}

const tool = object('A tool.', {
  name,
  description: line,
  readOnlyHint: flag('It changes nothing.'),
  destructiveHint: flag('It may destroy something.'),
  idempotentHint: flag('A second call changes nothing.'),
  openWorldHint: flag('It reaches other systems.'),
});
type ProposedTool = TypeOf<typeof tool>;

const guardrail = object('A guardrail.', {
  type: oneOf('Its type.', GUARDRAIL_TYPES),
  where: oneOf('Its side.', SIDES),
  function: name,
});

const completion = object('A completion.', {
  description: line,
  tools: many('The tools.', tool),
  guardrails: many('The guardrails.', guardrail),
  models: many('The models.', object('A model.', { provider: name, id: name })),
  variables: many('The variables.', name),
});

/** JSON Schema of the response, as strict as the vendors require. */
export const COMPLETION_SCHEMA = completion.returns;

/** What a model proposes for a manifest. Every name must be in the code. */
export interface Completion extends TypeOf<typeof completion> {}

/** Reads the JSON of a response. The reason quotes nothing of it. */
export function parseCompletion(
  value: unknown,
): { ok: true; value: Completion } | { ok: false; reason: string } {
  const parsed = parseWith(completion, value);
  if (parsed.ok) return parsed;
  const [error] = parsed.errors;
  return {
    ok: false,
    reason: `the response of the model is not valid: ${error?.path ?? ''} ${error?.message ?? ''}`,
  };
}

export interface Completed {
  draft: Draft;
  /** Number of proposals without evidence in the code. */
  rejected: number;
}

/**
 * Adds proposals to what was found. A proposal never replaces a value from the code, and a new item needs its name in the code:
 * as a name, or as a whole string. Comments are not evidence.
 */
export function withCompletion(draft: Draft, completion: Completion, code: Code): Completed {
  const evidence = new Evidence(code);
  const added = {
    tools: addTools(draft.tools, completion.tools, evidence),
    guardrails: addGuardrails(draft.guardrails, completion.guardrails, evidence),
    models: addModels(draft.models, completion.models, evidence),
    variables: addVariables(draft.variables, completion.variables, evidence),
  };
  const description = paragraphOf(completion.description);
  return {
    draft: { ...draft, ...added, description: draft.description ?? description },
    rejected: evidence.rejected,
  };
}

/** Nodes that are a name. */
const NAMED = /(?:Name|Definition)$/;

/** Where each name and each string of the code is. */
class Evidence {
  rejected = 0;
  readonly #names = new Map<string, Place>();
  readonly #strings = new Map<string, Place>();

  constructor({ sources }: Code) {
    for (const source of sources) {
      for (const { node, literal } of stringsOf(source))
        if (!this.#strings.has(literal)) this.#strings.set(literal, placeOf(source, node));
      for (const node of source.nodes) {
        const word = NAMED.test(node.name) ? textOf(source, node) : '';
        if (!this.#names.has(word)) this.#names.set(word, placeOf(source, node));
      }
    }
  }

  /** Null counts as a rejection. */
  of(word: string, kinds: 'string' | 'any'): Place | null {
    const place = this.#strings.get(word) ?? (kinds === 'any' ? this.#names.get(word) : undefined);
    if (place !== undefined && word.trim() !== '') return place;
    this.rejected += 1;
    return null;
  }
}

/** The items, and those of the proposals that are not known yet and have evidence. */
function withNew<T, P>(
  items: readonly Item<T>[],
  proposals: Iterable<P>,
  {
    isKnown,
    find,
    create,
  }: {
    isKnown: (item: T, proposal: P) => boolean;
    find: (proposal: P) => Place | null;
    create: (proposal: P) => T;
  },
): Item<T>[] {
  const all = [...items];
  for (const proposal of proposals) {
    if (all.some((item) => isKnown(item, proposal))) continue;
    const place = find(proposal);
    if (place !== null) all.push({ ...create(proposal), places: [place], proposed: ['item'] });
  }
  return all;
}

function addTools(
  tools: Draft['tools'],
  proposals: readonly ProposedTool[],
  evidence: Evidence,
): Draft['tools'] {
  const byName = new Map(proposals.map((proposal) => [proposal.name, proposal]));
  const none = { kind: 'tool', type: 'function', description: null, module: null, function: null } as const;
  const all = withNew(tools, byName.values(), {
    isKnown: (tool, proposal) => tool.name === proposal.name,
    find: (proposal) => evidence.of(proposal.name, 'any'),
    create: (proposal): ToolFound => ({ ...none, name: proposal.name, annotations: {} }),
  });
  return all.map((tool) => completedTool(tool, byName.get(tool.name)));
}

/** Hints that the code has are kept, one by one. */
function completedTool(
  tool: Draft['tools'][number],
  proposal: ProposedTool | undefined,
): Draft['tools'][number] {
  if (proposal === undefined) return tool;
  const description = tool.description === null ? paragraphOf(proposal.description) : null;
  const annotations = { ...tool.annotations };
  const proposed = [...tool.proposed];
  if (description !== null) proposed.push('description');
  for (const hint of HINTS) {
    if (annotations[hint] !== undefined) continue;
    annotations[hint] = proposal[hint];
    if (!proposed.includes('annotations')) proposed.push('annotations');
  }
  return { ...tool, description: tool.description ?? description, annotations, proposed };
}

function addGuardrails(
  guardrails: Draft['guardrails'],
  proposals: Completion['guardrails'],
  evidence: Evidence,
): Draft['guardrails'] {
  return withNew(guardrails, proposals, {
    isKnown: (known, { type, where }) => known.type === type && known.where === where,
    find: (proposal) => evidence.of(proposal.function, 'any'),
    create: (proposal) => ({ kind: 'guardrail', action: null, module: null, ...proposal }),
  });
}

/** A proposed model never comes before one that was found. */
function addModels(
  models: Draft['models'],
  proposals: Completion['models'],
  evidence: Evidence,
): Draft['models'] {
  return withNew(models, proposals, {
    isKnown: (known, { id }) => known.id.text === id,
    find: ({ id }) => evidence.of(id, 'string'),
    create: ({ provider, id }) => ({
      ...{ kind: 'model', keyVariable: null, temperature: null },
      provider: /^[a-z][a-z0-9-]{0,40}$/.test(provider) ? provider : null,
      id: { text: id, variable: null },
    }),
  });
}

function addVariables(
  variables: Draft['variables'],
  proposals: readonly string[],
  evidence: Evidence,
): Draft['variables'] {
  return withNew(variables, new Set(proposals), {
    isKnown: ({ name: known }, variable) => known === variable,
    find: (variable) => (/^[A-Z][A-Z0-9_]*$/.test(variable) ? evidence.of(variable, 'any') : null),
    create: (variable) => ({ name: variable, isOptional: false }),
  });
}
