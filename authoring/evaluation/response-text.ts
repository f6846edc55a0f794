import { isRecord, jsonOf } from '../../core/untrusted/fields.ts';

/** The text that an agent's response has for its user: of JSON, an event stream, JSON lines or plain text. */
export function responseText(contentType: string, body: string): string {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === 'text/event-stream') return eventText(body);
  if (/ndjson|jsonl/.test(type)) return partsText(body.split('\n'));
  const value = jsonOf(body);
  return value === undefined ? body : textIn(value);
}

/** Data of the events, joined. Events of one text are parts of it, so nothing is between them. */
function eventText(body: string): string {
  const events = body.split(/\r?\n\r?\n/).map((event) =>
    event
      .split(/\r?\n/)
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice('data:'.length).replace(/^ /, ''))
      .join('\n'),
  );
  return partsText(events);
}

function partsText(parts: readonly string[]): string {
  return parts
    .filter((part) => part.trim() !== '' && part !== '[DONE]')
    .map((part) => {
      const value = jsonOf(part);
      return value === undefined ? part : textIn(value);
    })
    .join('');
}

/** Members with the text of a response, in order of precedence, of the known APIs and of own ones. */
const TEXT_MEMBERS = [
  ...[
    'choices',
    'output_text',
    'delta',
    'message',
    'content',
    'text',
    'output',
    'response',
    'answer',
    'reply',
  ],
  ...['completion', 'result', 'messages', 'parts', 'artifacts', 'data'],
];

/** The text of the first known member; of an unknown shape all texts. */
function textIn(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(textIn).join('');
  if (!isRecord(value)) return '';
  const known = TEXT_MEMBERS.find((member) => value[member] !== undefined && value[member] !== null);
  if (known !== undefined) return textIn(value[known]);
  return Object.values(value)
    .filter((member) => typeof member === 'string')
    .join('\n');
}
