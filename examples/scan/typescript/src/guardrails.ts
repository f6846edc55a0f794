import OpenAI from 'openai';

const client = new OpenAI();

const EMAIL = /[\w.+-]+@[\w-]+\.[\w.]+/g;

export const redactPii = (text: string): string => text.replaceAll(EMAIL, '[email]');

export const looksLikeJailbreak = (text: string): boolean =>
  /\b(ignore|forget)\b.{0,30}\b(instructions|rules)\b/i.test(text);

/** Whether the vendor's classifier flags an answer. */
export async function isToxic(answer: string): Promise<boolean> {
  const { results } = await client.moderations.create({ model: 'omni-moderation-latest', input: answer });
  return results.some(({ flagged }) => flagged);
}
