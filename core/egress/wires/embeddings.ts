import type { ModelWire } from '../model-wire.ts';
import { nameAt } from './members.ts';
import { usageOf } from './model-usage.ts';
import { CallEditor, createStreamFilter } from './stream-filter.ts';
import { OPENAI_ERRORS } from './vendor-errors.ts';

/** OpenAI's embeddings, and the vendors that are compatible. There are no tools, and no streams. */
export const EMBEDDINGS: ModelWire = {
  name: 'embeddings',
  readRequest: (body, { model, isStream }) => ({
    ...{ model: model ?? nameAt(body, 'model'), isStream },
    ...{ toolsOffered: [], vendorTools: [], toolResults: [] },
    // No text is generated.
    ...{ maxOutputTokens: 0, isStateful: false },
  }),
  readResponse(body) {
    const usage = usageOf('embeddings', body);
    return { model: nameAt(body, 'model'), toolCalls: [], usage, isComplete: usage !== null };
  },
  strip: () => null,
  createFilter: (options) => createStreamFilter(new CallEditor(options)),
  ...OPENAI_ERRORS,
};
