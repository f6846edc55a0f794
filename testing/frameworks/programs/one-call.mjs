import OpenAI from 'openai';
import { MODEL, QUESTION } from './common.mjs';

/** The usage of one streamed model call; `onText` runs when the text starts. */
export async function usageAfter(url, onText, signal) {
  const chunks = await new OpenAI({ baseURL: url, apiKey: 'key' }).chat.completions.create(
    {
      ...{ model: MODEL, stream: true, stream_options: { include_usage: true } },
      messages: [{ role: 'user', content: QUESTION }],
    },
    { signal },
  );
  let [usage, hasBegun] = [null, false];
  for await (const chunk of chunks) {
    usage = chunk.usage ?? usage;
    if (chunk.choices[0]?.delta.content && !hasBegun) {
      hasBegun = true;
      await onText();
    }
  }
  return usage;
}
