import { isRecord } from '../../core/untrusted/fields.ts';

/** What a model wrote for a project: text and function bodies, all unchecked. */
export interface WrittenCode {
  /** Empty: none. */
  systemPrompt: string;
  /** Function bodies by the name of the tool. */
  bodies: ReadonlyMap<string, string>;
  /** Number of entries without a name and a body. */
  invalid: number;
}

export const NO_CODE: WrittenCode = { systemPrompt: '', bodies: new Map(), invalid: 0 };

/** Schema of the response, for vendors that accept one. */
export const RESPONSE_SCHEMA = {
  type: 'object',
  properties: {
    systemPrompt: { type: 'string' },
    tools: {
      type: 'array',
      items: {
        type: 'object',
        properties: { name: { type: 'string' }, body: { type: 'string' } },
        required: ['name', 'body'],
        additionalProperties: false,
      },
    },
  },
  required: ['systemPrompt', 'tools'],
  additionalProperties: false,
} as const;

type Parsed = { ok: true; value: WrittenCode } | { ok: false; reason: string };

/** Reads the response. The first of several bodies of one tool counts. */
export function parseWrittenCode(value: unknown): Parsed {
  if (!isRecord(value)) return { ok: false, reason: 'the response of the model is not a JSON object' };
  const { systemPrompt, tools } = value;
  if (typeof systemPrompt !== 'string' || !Array.isArray(tools))
    return { ok: false, reason: 'the response of the model does not have systemPrompt and tools' };
  const bodies = new Map<string, string>();
  let invalid = 0;
  for (const tool of tools as unknown[]) {
    const { name, body }: Record<string, unknown> = isRecord(tool) ? tool : {};
    if (typeof name !== 'string' || typeof body !== 'string') invalid++;
    else if (!bodies.has(name)) bodies.set(name, body);
  }
  return { ok: true, value: { systemPrompt, bodies, invalid } };
}
