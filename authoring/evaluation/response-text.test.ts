import { expect, test } from '@jest/globals';
import { responseText } from './response-text.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
const EVENTS = 'text/event-stream';
const events = (...data: unknown[]) =>
  data.map((each) => `data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`).join('');
const delta = (content: string) => ({ choices: [{ delta: { content } }] });

test.each<[string, string, string, string]>([
  [
    'OpenAI chat completion',
    JSON_TYPE,
    '{"choices":[{"message":{"role":"assistant","content":"Paris"}}]}',
    'Paris',
  ],
  ['OpenAI response', JSON_TYPE, '{"output":[{"content":[{"type":"output_text","text":"Paris"}]}]}', 'Paris'],
  [
    'Anthropic message',
    JSON_TYPE,
    '{"content":[{"type":"text","text":"Par"},{"type":"text","text":"is"}]}',
    'Paris',
  ],
  ['own member', JSON_TYPE, '{"answer":"Paris","input":"Lyon?"}', 'Paris'],
  ['unknown shape', JSON_TYPE, '{"city":"Paris","country":"France","n":1}', 'Paris\nFrance'],
  ['JSON string', JSON_TYPE, '"Paris"', 'Paris'],
  ['plain text', 'text/plain', 'Paris', 'Paris'],
  ['JSON without its type', '', '{"text":"Paris"}', 'Paris'],
  ['invalid JSON', JSON_TYPE, '{"text":', '{"text":'],
  ['OpenAI stream', EVENTS, events(delta('Pa'), delta('ris'), '[DONE]'), 'Paris'],
  [
    'stream with null contents',
    EVENTS,
    events({ choices: [{ delta: { content: null } }] }, delta('Paris')),
    'Paris',
  ],
  ['stream of plain text', EVENTS, events('Pa', 'ris'), 'Paris'],
  ['Windows line ends', EVENTS, events(delta('Pa'), delta('ris')).replaceAll('\n', '\r\n'), 'Paris'],
  ['JSON lines', 'application/x-ndjson', '{"text":"Pa"}\n{"text":"ris"}\n', 'Paris'],
  ['nothing', JSON_TYPE, '', ''],
])('%s', (_what, type, body, text) => {
  expect(responseText(type, body)).toBe(text);
});
