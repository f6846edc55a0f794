import { isRecord, own } from '../../untrusted/fields.ts';
import type { Json, ModelRequest, ModelWire } from '../model-wire.ts';
import { callIn, contentWith, toolResultsOf } from './chat-messages.ts';
import { CohereEditor, reasonWithoutCalls } from './cohere-stream.ts';
import { distinct, limitAt, listAt, nameAt, recordAt, recordsAt, stringAt, without } from './members.ts';
import { createStreamFilter } from './stream-filter.ts';
import { COHERE_ERRORS } from './vendor-errors.ts';
import { wholeResponse } from './whole-response.ts';

/** Cohere's chat, version 2. */
export const COHERE: ModelWire = {
  name: 'cohere',
  readRequest,
  createFilter: (options) => createStreamFilter(new CohereEditor(options)),
  ...wholeResponse('cohere', {
    entriesOf: (body) => listAt(recordAt(body, 'message'), 'tool_calls') ?? [],
    callIn: (entry) => (isRecord(entry) ? callIn(entry) : null),
    isComplete: (body) => stringAt(body, 'finish_reason') !== null,
    withEntries(body, kept, text) {
      const message = recordAt(body, 'message') ?? {};
      if (text === null) return { ...body, message: { ...message, tool_calls: kept } };
      const content = contentWith(own(message, 'content') ?? [], text);
      return {
        ...body,
        message: { ...without(message, 'tool_calls'), content },
        finish_reason: reasonWithoutCalls(own(body, 'finish_reason')),
      };
    },
  }),
  ...COHERE_ERRORS,
};

function readRequest(body: Json, route: { model: string | null; isStream: boolean }): ModelRequest {
  const tools = recordsAt(body, 'tools');
  return {
    model: route.model ?? nameAt(body, 'model'),
    isStream: route.isStream || own(body, 'stream') === true,
    toolsOffered: distinct(tools.map((tool) => nameAt(recordAt(tool, 'function') ?? tool, 'name'))),
    // Version 1 had connectors.
    vendorTools: distinct(recordsAt(body, 'connectors').map((connector) => nameAt(connector, 'id'))),
    toolResults: toolResultsOf(recordsAt(body, 'messages')),
    maxOutputTokens: limitAt(body, 'max_tokens'),
    isStateful: false,
  };
}
