import { own } from '../../untrusted/fields.ts';
import type { Json, ModelRequest, ModelWire } from '../model-wire.ts';
import { GeminiEditor } from './gemini-stream.ts';
import { addedMessages, distinct, limitAt, nameAt, recordsAt, recordsIn, stringAt } from './members.ts';
import { createStreamFilter } from './stream-filter.ts';
import { GEMINI_ERRORS } from './vendor-errors.ts';

/** Gemini's `generateContent`, also in Vertex. A whole response has the form of an event. */
export const GEMINI: ModelWire = {
  name: 'gemini',
  readRequest,
  readResponse(body) {
    const editor = new GeminiEditor({ judge: () => 'pass', message: '' });
    editor.read(body);
    editor.calls.finishAll();
    return { ...editor.facts, toolCalls: editor.calls.facts };
  },
  strip(body, judge, message) {
    const editor = new GeminiEditor({ judge, message }, true);
    const calls = editor.read(body);
    editor.calls.finishAll();
    if (editor.calls.removed.length === 0) return null;
    return editor.write(body, calls)?.[0] ?? body;
  },
  createFilter: (options) => createStreamFilter(new GeminiEditor(options)),
  ...GEMINI_ERRORS,
};

/** The API accepts names in camel case and with underscores. */
function member(record: Json | null, name: string): unknown {
  return record === null ? undefined : (own(record, name) ?? own(record, underscored(name)));
}

const underscored = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const recordIn = (value: unknown): Json | null => recordsIn([value])[0] ?? null;

function readRequest(body: Json, route: { model: string | null; isStream: boolean }): ModelRequest {
  const tools = { offered: [] as (string | null)[], vendor: [] as string[] };
  for (const tool of recordsAt(body, 'tools')) addTools(tool, tools);
  return {
    model: route.model ?? nameAt(body, 'model'),
    isStream: route.isStream,
    toolsOffered: distinct(tools.offered),
    vendorTools: distinct(tools.vendor),
    toolResults: toolResultsOf(recordsAt(body, 'contents')),
    maxOutputTokens: limitAt(
      recordIn(member(body, 'generationConfig')),
      'maxOutputTokens',
      'max_output_tokens',
    ),
    isStateful: false,
  };
}

/** An entry of `tools` has one member per kind of tool. */
function addTools(tool: Json, found: { offered: (string | null)[]; vendor: string[] }): void {
  const isEmpty = (kind: string): boolean => (own(tool, kind) ?? null) === null;
  for (const kind of Object.keys(tool)) {
    const name = underscored(kind);
    if (isEmpty(kind)) continue;
    if (name === 'function_declarations')
      // Not spread: a list may have more entries than a call may have arguments.
      for (const declaration of recordsAt(tool, kind)) found.offered.push(nameAt(declaration, 'name'));
    else if (name === 'computer_use') found.offered.push(name);
    else if (name === 'mcp_servers')
      for (const server of recordsAt(tool, kind)) found.vendor.push(`mcp:${nameAt(server, 'name') ?? ''}`);
    else found.vendor.push(name.slice(0, 256));
  }
}

function toolResultsOf(contents: readonly Json[]): ModelRequest['toolResults'] {
  return addedMessages(contents, (content) => stringAt(content, 'role') === 'model')
    .flatMap((content) => recordsAt(content, 'parts'))
    .map((part) => recordIn(member(part, 'functionResponse')))
    .filter((response) => response !== null)
    .map((response) => ({ callId: nameAt(response, 'id'), name: nameAt(response, 'name') }));
}
