import type { ModelWire, WireName } from '../model-wire.ts';
import { ANTHROPIC } from './anthropic.ts';
import { CHAT } from './chat.ts';
import { COHERE } from './cohere.ts';
import { EMBEDDINGS } from './embeddings.ts';
import { GEMINI } from './gemini.ts';
import { OLLAMA } from './ollama.ts';
import { RESPONSES } from './responses.ts';

/** The protocols, by name. */
export const WIRE_OF: Readonly<Record<WireName, ModelWire>> = {
  chat: CHAT,
  responses: RESPONSES,
  embeddings: EMBEDDINGS,
  anthropic: ANTHROPIC,
  gemini: GEMINI,
  cohere: COHERE,
  ollama: OLLAMA,
};
