import { isRecord, own } from '../../untrusted/fields.ts';
import type { Json } from '../model-wire.ts';
import type { CallPart } from './judged-calls.ts';
import { argumentsOf, listAt, nameAt, stringAt } from './members.ts';

/** Tools of OpenAI that have a type instead of a name and that the agent runs: the type in a request, the type of a call, and the name here. */
const CLIENT_TOOLS = [
  { tool: 'computer_use_preview', call: 'computer_call', name: 'computer' },
  { tool: 'computer', call: 'computer_call', name: 'computer' },
  { tool: 'local_shell', call: 'local_shell_call', name: 'local_shell' },
  { tool: 'shell', call: 'shell_call', name: 'shell' },
  { tool: 'apply_patch', call: 'apply_patch_call', name: 'apply_patch' },
] as const;

const NAMES_OF_TOOLS = new Map<string, string>(CLIENT_TOOLS.map(({ tool, name }) => [tool, name]));
const NAMES_OF_CALLS = new Map<string, string>(CLIENT_TOOLS.map(({ call, name }) => [call, name]));

/** Types of calls with a name, and the member that has the arguments. */
const NAMED_CALLS: ReadonlyMap<string, string> = new Map([
  ['function_call', 'arguments'],
  ['custom_tool_call', 'input'],
]);

/** The name of a tool that the agent runs; null: not such a tool. */
export const nameOfClientTool = (type: string): string | null => NAMES_OF_TOOLS.get(type) ?? null;

/** The call in an item of the output or of the input; null: another item. `arguments` null: not in the item. */
export function callIn(item: unknown): CallPart | null {
  if (!isRecord(item)) return null;
  const type = stringAt(item, 'type') ?? '';
  const id = nameAt(item, 'call_id') ?? nameAt(item, 'id');
  const member = NAMED_CALLS.get(type);
  if (member !== undefined) return { id, name: nameAt(item, 'name'), arguments: stringAt(item, member) };
  const name = NAMES_OF_CALLS.get(type);
  if (name === undefined) return null;
  const details = own(item, 'action') ?? own(item, 'actions') ?? own(item, 'operation');
  return { id, name, arguments: details === undefined ? null : argumentsOf(details) };
}

/** An item with the message, for the output. */
export function messageItem(response: Json, text: string): Json {
  const id = (nameAt(response, 'id') ?? '').replace(/^resp_/, '');
  const content = [textPart(text)];
  return { id: `msg_policy_${id}`, type: 'message', status: 'completed', role: 'assistant', content };
}

function textPart(text: string): Json {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** The events of an item with the message. `sequence`: number of the first event; null: the stream has no numbers. */
export function messageEvents(
  item: Json,
  index: number,
  text: string,
  sequence: number | null,
): readonly Json[] {
  const place = { item_id: own(item, 'id'), output_index: index, content_index: 0 };
  const events: Json[] = [
    {
      type: 'response.output_item.added',
      output_index: index,
      item: { ...item, status: 'in_progress', content: [] },
    },
    { type: 'response.content_part.added', ...place, part: textPart('') },
    { type: 'response.output_text.delta', ...place, delta: text, logprobs: [] },
    { type: 'response.output_text.done', ...place, text, logprobs: [] },
    { type: 'response.content_part.done', ...place, part: textPart(text) },
    { type: 'response.output_item.done', output_index: index, item },
  ];
  return sequence === null
    ? events
    : events.map((event, at) => ({ ...event, sequence_number: sequence + at }));
}

/** The output of a response; []: none. */
export const outputOf = (response: Json | null): readonly unknown[] => listAt(response, 'output') ?? [];
