import { isRecord, own } from '../untrusted/fields.ts';
import { modelOf } from './call-names.ts';
import { isWholeResponse } from './whole-responses.ts';

/** Values of the member `object` of model responses. */
const MODEL_OBJECTS: ReadonlySet<string> = new Set([
  'chat.completion',
  'chat.completion.chunk',
  'text_completion',
  'response',
]);

/** Whether a JSON object is a model response or a chunk of one. */
export function isModelResponse(object: Record<string, unknown>): boolean {
  const kind = own(object, 'object');
  if (typeof kind === 'string' && MODEL_OBJECTS.has(kind)) return true;
  const choices = own(object, 'choices');
  if (Array.isArray(choices))
    return choices.every(isChoice) && (choices.length > 0 || modelOf(object) !== null);
  const type = own(object, 'type');
  return (
    (type === 'message' && own(object, 'role') === 'assistant' && Object.hasOwn(object, 'stop_reason')) ||
    ((type === 'ai' || type === 'AIMessageChunk') && isRecord(own(object, 'response_metadata'))) ||
    // Gemini and Ollama
    ((Object.hasOwn(object, 'candidates') || Object.hasOwn(object, 'done')) && isWholeResponse(object))
  );
}

/** Whether the object is a JSON-RPC response to `tools/call` of MCP. No other MCP response has a content list. */
export function isToolResult(object: unknown): boolean {
  if (!isRecord(object)) return false;
  const result = own(object, 'result');
  return own(object, 'jsonrpc') !== undefined && isRecord(result) && Array.isArray(own(result, 'content'));
}

/** The choices of a model response contain a message or text. Other JSON, such as a poll or a form, can also have `choices`. */
function isChoice(value: unknown): boolean {
  return isRecord(value) && ['message', 'delta', 'text'].some((name) => Object.hasOwn(value, name));
}

/** A chunk is finished if one of its choices has a finish reason. A background response is finished if it is not in progress. */
export function isFinished(object: Record<string, unknown>): boolean {
  if (own(object, 'object') === 'chat.completion.chunk' || own(object, 'type') === 'AIMessageChunk') {
    const choices = own(object, 'choices');
    return (
      Array.isArray(choices) &&
      choices.some((each) => isRecord(each) && typeof own(each, 'finish_reason') === 'string')
    );
  }
  return own(object, 'status') !== 'queued' && own(object, 'status') !== 'in_progress';
}
