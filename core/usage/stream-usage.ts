import { isRecord, own } from '../untrusted/fields.ts';
import type { RequestUsage } from './usage.ts';
import { callOf, isModelAnswer, modelIdOf } from './usage-from-json.ts';

/**
 * Collects the usage of one streamed answer from its events' JSON: the OpenAI-compatible `usage` of the last chunk that
 * has one, the Responses API's `response.completed`, Anthropic's `message_start` and `message_delta`.
 */
export interface StreamUsage {
  event(value: unknown): void;
  result(): RequestUsage | null;
}

export function createStreamUsage(): StreamUsage {
  let modelShaped = false;
  let modelId = 'unknown';
  let usage: Record<string, unknown> | null = null;

  /** Later counts replace earlier ones member by member: Anthropic sends input and output in different events. */
  const take = (found: unknown): void => {
    if (isRecord(found)) usage = { ...usage, ...found };
  };
  const nameModel = (holder: Record<string, unknown>): void => {
    const named = modelIdOf(holder);
    if (named !== 'unknown') modelId = named;
  };
  const readMessage = (holder: unknown): void => {
    if (!isRecord(holder)) return;
    modelShaped = true;
    nameModel(holder);
    take(own(holder, 'usage'));
  };

  return {
    event(value) {
      if (!isRecord(value)) return;
      const type = own(value, 'type');
      if (type === 'message_start') readMessage(own(value, 'message'));
      else if (type === 'message_delta') take(own(value, 'usage'));
      else if (typeof type === 'string' && type.startsWith('response.')) readMessage(own(value, 'response'));
      else if (isModelAnswer(value) || callOf('', own(value, 'usage')) !== null) readMessage(value);
    },
    result() {
      const call = usage === null ? null : callOf(modelId, usage);
      if (call === 'unreadable') return { unavailable: 'the stream has a usage that cannot be read' };
      if (call !== null) return call;
      return modelShaped ? { unavailable: 'the stream ended without usage' } : null;
    },
  };
}
