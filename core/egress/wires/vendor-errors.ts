import type { Json, ModelWire } from '../model-wire.ts';

/** How a vendor writes errors. */
type Errors = Pick<ModelWire, 'denialBody' | 'streamError'>;

const sse = (data: Json, event?: string): string =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;

const openai = (code: string, message: string): Json => ({
  error: { message, type: 'policy_violation', param: null, code },
});

/** Chat completions and embeddings of OpenAI, and of the vendors that are compatible. */
export const OPENAI_ERRORS: Errors = {
  denialBody: openai,
  streamError: (code, message) => sse(openai(code, message)),
};

/** `response.failed` raises no error in the clients for Python; this event does. */
export const RESPONSES_ERRORS: Errors = {
  denialBody: openai,
  streamError: (code, message) => sse(openai(code, message), 'error'),
};

const anthropic = (_code: string, message: string): Json => ({
  type: 'error',
  error: { type: 'permission_error', message },
  request_id: 'req_policy',
});

export const ANTHROPIC_ERRORS: Errors = {
  denialBody: anthropic,
  streamError: (code, message) => sse(anthropic(code, message), 'error'),
};

const gemini = (code: string, message: string): Json => ({
  error: {
    code: 403,
    message,
    status: 'PERMISSION_DENIED',
    details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code, domain: 'platform.io' }],
  },
});

export const GEMINI_ERRORS: Errors = {
  denialBody: gemini,
  streamError: (code, message) => sse(gemini(code, message)),
};

/** Cohere's streams have an error in their last event. */
export const COHERE_ERRORS: Errors = {
  denialBody: (code, message) => ({ message, code }),
  streamError: (code, message) =>
    sse({ type: 'message-end', delta: { finish_reason: 'ERROR', error: message, code } }, 'message-end'),
};

export const OLLAMA_ERRORS: Errors = {
  denialBody: (code, message) => ({ error: message, code }),
  streamError: (code, message) => `${JSON.stringify({ error: message, code })}\n`,
};
