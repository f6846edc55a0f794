import { GoogleGenAI } from '@google/genai';
import { DECLARED, forms, QUESTION, runTool, UNDECLARED } from './lane-tools.mjs';

const { models } = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY });
const model = 'gemini-2.5-flash';
const QUESTIONS = [{ role: 'user', parts: [{ text: QUESTION }] }];
const declared = (tools) =>
  tools.map(({ name, description, parameters }) => ({ name, description, parametersJsonSchema: parameters }));

const whole = async (request) => {
  const answer = await models.generateContent({ model, ...request });
  return { answer: [answer], parts: answer.candidates[0].content.parts };
};
const streamed = async (request) => {
  const answer = await Array.fromAsync(await models.generateContentStream({ model, ...request }));
  return { answer, parts: answer.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []) };
};

async function loop(tools, answerTo) {
  const contents = [...QUESTIONS];
  const received = [];
  const config = { tools: [{ functionDeclarations: declared(tools) }] };
  for (;;) {
    const { answer, parts } = await answerTo({ contents: [...contents], config });
    received.push(answer);
    const calls = parts.flatMap(({ functionCall }) => functionCall ?? []);
    if (calls.length === 0) return received;
    const results = calls.map(({ id, name, args }) => ({
      functionResponse: { id, name, response: { output: runTool(name, args) } },
    }));
    contents.push({ role: 'model', parts }, { role: 'user', parts: results });
  }
}

await forms({
  text: async () => (await whole({ contents: QUESTIONS })).answer,
  stream: async () => (await streamed({ contents: QUESTIONS })).answer,
  tools: () => loop(DECLARED, whole),
  'tools stream': () => loop(DECLARED, streamed),
  undeclared: () => loop(UNDECLARED, whole),
});
