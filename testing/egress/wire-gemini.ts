import {
  CACHED,
  REASONING,
  objectsIn,
  piecesOf,
  type Json,
  type ModelResponse,
} from '../frameworks/model-response.ts';
import type { LaneWire } from './lane-wire.ts';

/** Google's `generateContent`. Model and stream are parts of the path. */
export const GEMINI: LaneWire = {
  name: 'gemini',
  streamType: 'text/event-stream',
  toolsOf: ({ tools }) =>
    objectsIn(tools)
      // The API accepts both spellings, and LiteLLM writes the second one.
      .flatMap((tool) => [
        ...objectsIn(tool['functionDeclarations']),
        ...objectsIn(tool['function_declarations']),
      ])
      .map(({ name }) => String(name)),
  whole: (response) => responseOf(response, partsOf(response), 'STOP'),
  stream(response) {
    const parts =
      response.tools.length > 0 ? partsOf(response) : piecesOf(response.text).map((text) => ({ text }));
    return parts.map((part, index) =>
      event(responseOf(response, [part], index === parts.length - 1 ? 'STOP' : null)),
    );
  },
};

/** Google ends the lines of its events with CR and LF. */
const event = (data: Json): string => `data: ${JSON.stringify(data)}\r\n\r\n`;

function partsOf({ tools, text }: ModelResponse): object[] {
  if (tools.length === 0) return [{ text }];
  return tools.map(({ name, input }) => ({ functionCall: { name, args: JSON.parse(input) as unknown } }));
}

function responseOf(
  { id, model, ...tokens }: ModelResponse,
  parts: object[],
  finishReason: string | null,
): Json {
  return {
    candidates: [
      { content: { parts, role: 'model' }, ...(finishReason !== null && { finishReason }), index: 0 },
    ],
    usageMetadata: usageOf(tokens),
    modelVersion: model,
    responseId: id.slice(0, 22),
  };
}

/** The tokens of thoughts are not part of the tokens of the candidates. */
const usageOf = ({
  promptTokens,
  completionTokens,
}: Pick<ModelResponse, 'promptTokens' | 'completionTokens'>) => ({
  promptTokenCount: promptTokens,
  candidatesTokenCount: completionTokens - REASONING,
  totalTokenCount: promptTokens + completionTokens,
  cachedContentTokenCount: CACHED,
  promptTokensDetails: [{ modality: 'TEXT', tokenCount: promptTokens }],
  thoughtsTokenCount: REASONING,
});
