import { cut, isRecord, own } from '../untrusted/fields.ts';

export const IDS = [
  'id',
  'response_id',
  'responseId',
  'provider_response_id',
  'messageId',
  'message_id',
] as const;
export const MODELS = [
  ...['model', 'model_name', 'modelName', 'modelId', 'model_id', 'modelVersion'],
  // LangChain events contain this member next to the message.
  'ls_model_name',
] as const;
/** Members whose own members describe the enclosing object. */
export const ABOUT = ['response_metadata', 'response', 'metadata'] as const;

export const MAX_NAME = 200;

export function idOf(object: Record<string, unknown>): string | null {
  // The id of a JSON-RPC message is not that of a call.
  if (own(object, 'jsonrpc') !== undefined) return null;
  return textAt(object, IDS) ?? textIn(own(object, 'response'), IDS);
}

/** Run id of a LangChain event about a model call. It is needed because the pieces and the message have different ids. */
export function runOf(object: Record<string, unknown>): string | null {
  const event = own(object, 'event');
  return typeof event === 'string' && MODEL_EVENT.test(event) ? textAt(object, ['run_id']) : null;
}

const MODEL_EVENT = /^on_(chat_model|llm)_/;

export function modelOf(object: Record<string, unknown>): string | null {
  const named = textAt(object, MODELS);
  if (named !== null) return named;
  for (const name of ABOUT) {
    const found = textIn(own(object, name), MODELS);
    if (found !== null) return found;
  }
  return null;
}

function textIn(value: unknown, names: readonly string[]): string | null {
  return isRecord(value) ? textAt(value, names) : null;
}

function textAt(object: Record<string, unknown>, names: readonly string[]): string | null {
  for (const name of names) {
    const value = own(object, name);
    if (typeof value === 'string' && value !== '') return cut(value, MAX_NAME);
  }
  return null;
}
