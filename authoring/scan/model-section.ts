import type { Draft, Item } from './draft.ts';
import type { ModelFound } from './discovery.ts';
import { keyVariables } from './vendors.ts';
import { flowMap, found, literal, scalar, type Written, type YamlLines } from './yaml-lines.ts';

const NOT_FOUND = 'not found in the code; replace this example';

/** `spec.model`: the model that the code names most often. */
export function modelSection(lines: YamlLines, { models, variables }: Draft): void {
  const [model, ...others] = models;
  lines.add(1, 'model:');
  const values = valuesOf(model, variables);
  for (const [key, { text, comment }] of Object.entries(values)) lines.add(2, `${key}: ${text}`, comment);
  if (model !== undefined && model.temperature !== null)
    lines.add(2, 'parameters:').add(3, `temperature: ${model.temperature}`);
  for (const other of others) {
    const members = Object.entries(valuesOf(other, variables)).map(([key, { text }]) => [key, text] as const);
    lines.comment(2, `also in the code: ${found(other)}`);
    lines.comment(2, `fallback: ${flowMap(members)}`);
  }
  lines.comment(2, 'costControls: { maxMonthlyUSD: 100, usdPerMillionTokens: { input: 1, output: 4 } }');
}

function valuesOf(
  model: Item<ModelFound> | undefined,
  variables: Draft['variables'],
): { provider: Written; id: Written; apiKey: Written } {
  const provider = model?.provider ?? null;
  return {
    provider:
      model === undefined || provider === null
        ? { text: 'model-provider', comment: NOT_FOUND }
        : { text: scalar(provider), comment: found(model) },
    id: idOf(model),
    apiKey: keyOf(provider, model?.keyVariable ?? null, variables),
  };
}

function idOf(model: Item<ModelFound> | undefined): Written {
  if (model === undefined) return { text: 'model-id', comment: NOT_FOUND };
  const { text, variable } = model.id;
  if (text !== null && text !== '') {
    const comment = variable === null ? found(model) : `default of ${variable}; ${found(model)}`;
    return { text: literal(text), comment };
  }
  if (variable !== null) return { text: `$env:${variable}`, comment: found(model) };
  return { text: 'model-id', comment: `not a literal in the code, replace this example; ${found(model)}` };
}

/** The key is always a reference: a literal key in the code is not copied. */
function keyOf(provider: string | null, own: string | null, variables: Draft['variables']): Written {
  const reference = (name: string, comment: string) => ({ text: `$env:${name}`, comment });
  const known = (name: string) => variables.find((variable) => variable.name === name);
  const ownVariable = own === null ? undefined : known(own);
  if (own !== null) return reference(own, ownVariable === undefined ? '' : found(ownVariable));
  const usual = provider === null ? null : keyVariables(provider);
  if (usual === null) {
    const word = (provider ?? 'model').toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_');
    return reference(/^[A-Z]/.test(word) ? `${word}_API_KEY` : 'MODEL_API_KEY', NOT_FOUND);
  }
  const [first] = usual;
  if (first === undefined) return { text: 'none', comment: 'this provider needs no key' };
  const used = usual.map(known).find((variable) => variable !== undefined);
  return used === undefined
    ? reference(first, 'read by the library; the code does not name it')
    : reference(used.name, found(used));
}
