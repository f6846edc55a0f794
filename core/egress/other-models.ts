import { cut, isRecord, own } from '../untrusted/fields.ts';
import type { Json } from './model-wire.ts';

/** UTF-16 units of a model. */
const MAX_NAME = 256;

/** Where a request names further models: gateways run one of them if the first fails, or instead of it. */
const SOURCES: readonly ((body: Json) => unknown)[] = [
  (body) => own(body, 'model'),
  // OpenRouter.
  (body) => own(body, 'models'),
  // LiteLLM.
  (body) => own(body, 'fallbacks'),
  (body) => own(body, 'context_window_fallbacks'),
  (body) => own(body, 'content_policy_fallbacks'),
  // Vercel.
  (body) => memberOf(memberOf(own(body, 'providerOptions'), 'gateway'), 'models'),
];

/** The models in a request other than the one that it is for, without repetitions. */
export function otherModels(body: Json, model: string | null): string[] {
  const names = SOURCES.flatMap((source) => namesIn(source(body)));
  return [...new Set(names)].filter((name) => name !== model);
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
