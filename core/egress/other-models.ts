import { cut, isRecord, own } from '../untrusted/fields.ts';
import { foldedName } from './folded-name.ts';
import type { Json } from './model-wire.ts';

/** UTF-16 units of a model. */
const MAX_NAME = 256;

/**
 * The members in which a request names models: gateways run one of them if the first fails, or instead of it. `models`: OpenRouter. The
 * others: LiteLLM.
 */
const MEMBERS: ReadonlySet<string> = new Set([
  ...['model', 'models', 'fallbacks', 'context_window_fallbacks', 'content_policy_fallbacks'],
]);

/** The models in a request other than the one that it is for, without repetitions. Ollama reads members in any case. */
export function otherModels(body: Json, model: string | null): string[] {
  const names = Object.keys(body).flatMap((key) => (MEMBERS.has(foldedName(key)) ? namesIn(body[key]) : []));
  // Vercel.
  const ofGateway = namesIn(memberOf(memberOf(own(body, 'providerOptions'), 'gateway'), 'models'));
  return [...new Set([...names, ...ofGateway])].filter((name) => name !== model);
}

const memberOf = (value: unknown, key: string): unknown => (isRecord(value) ? own(value, key) : undefined);

/** A name, names with commas (LiteLLM), a list, an object with a model, or the fallbacks by model. */
function namesIn(value: unknown): string[] {
  if (typeof value === 'string') return value.split(',').flatMap(nameIn);
  if (Array.isArray(value)) return value.flatMap(entryNames);
  return [];
}

function entryNames(entry: unknown): string[] {
  if (typeof entry === 'string') return nameIn(entry);
  if (!isRecord(entry)) return [];
  const model = own(entry, 'model');
  return typeof model === 'string' ? nameIn(model) : Object.values(entry).flatMap(namesIn);
}

function nameIn(text: string): string[] {
  const name = cut(text.trim(), MAX_NAME);
  return name === '' ? [] : [name];
}
