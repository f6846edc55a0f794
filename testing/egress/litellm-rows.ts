import type { ClientRow } from './client-row.ts';
import { AZURE_HOST } from './vendor-routes.ts';

/** One vendor: its model as LiteLLM writes it, and LiteLLM's error for a 403 of this vendor. */
type Each = Pick<ClientRow, 'lane' | 'variable' | 'before' | 'lookups'> & {
  model: string;
  type: string;
  forms?: ClientRow['forms'];
};

const ROWS: readonly Each[] = [
  { lane: 'openai', variable: 'OPENAI_BASE_URL', model: 'openai/gpt-4o-mini', type: 'litellm.APIError' },
  {
    ...{ lane: 'anthropic', variable: 'ANTHROPIC_API_BASE', model: 'anthropic/claude-sonnet-4-5' },
    before: () => ({ ANTHROPIC_API_BASE: 'https://api.anthropic.com' }),
    type: 'litellm.PermissionDeniedError',
  },
  {
    ...{ lane: 'gemini', variable: 'GEMINI_API_BASE', model: 'gemini/gemini-2.5-flash' },
    type: 'litellm.BadRequestError',
  },
  {
    ...{ lane: 'groq', variable: 'GROQ_API_BASE', model: 'groq/llama-3.3-70b-versatile' },
    type: 'litellm.APIError',
  },
  {
    ...{ lane: 'mistral', variable: 'MISTRAL_AZURE_API_BASE', model: 'mistral/mistral-small-latest' },
    type: 'litellm.APIError',
  },
  {
    ...{ lane: 'cohere', variable: 'COHERE_API_BASE', model: 'cohere_chat/command-a-03-2025' },
    before: () => ({ COHERE_API_BASE: 'https://api.cohere.com/v2/chat' }),
    // LiteLLM's reader of Cohere's streams rejects the names of events, also without a lane.
    forms: ['text', 'tools'],
    type: 'litellm.PermissionDeniedError',
  },
  {
    ...{ lane: 'ollama', variable: 'OLLAMA_API_BASE', model: 'ollama_chat/llama3.2' },
    before: ({ plain }) => ({ OLLAMA_API_BASE: plain }),
    lookups: /\/api\/show$/,
    type: 'litellm.PermissionDeniedError',
  },
  {
    ...{ lane: 'azure', variable: 'AZURE_API_BASE', model: 'azure/gpt-4o-mini' },
    before: () => ({ AZURE_API_BASE: `https://${AZURE_HOST}`, AZURE_API_VERSION: '2024-10-21' }),
    type: 'litellm.APIError',
  },
];

/** LiteLLM puts ids and times of its own into responses. */
const RANDOM = [/"id": ?"chatcmpl-[^"]*"/g, /"created": ?\d+/g, /"id": ?"call_[^"]*"/g];

/** LiteLLM has a client of its own for each vendor, and other conventions for their base URLs than the vendors' libraries. */
export const LITELLM_ROWS: readonly ClientRow[] = ROWS.map(({ model, type, ...lane }) => ({
  name: `litellm ${model.split('/')[0]} (Python)`,
  ...{ packages: 'python', client: 'litellm', program: 'lane-litellm.py', options: { MODEL: model } },
  forms: ['text', 'stream', 'tools', 'tools stream'],
  ...lane,
  denial: { type, attempts: 1 },
  ...{ weight: 'soak', random: RANDOM },
}));
