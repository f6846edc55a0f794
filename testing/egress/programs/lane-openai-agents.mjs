import { Agent, run, tool } from '@openai/agents';
import { DECLARED, forms, QUESTION, runTool, UNDECLARED } from './lane-tools.mjs';

const agent = (tools) =>
  new Agent({
    name: 'calculator',
    instructions: 'You calculate.',
    model: 'gpt-4o-mini',
    tools: tools.map(({ name, description, parameters }) =>
      tool({ name, description, parameters, strict: true, execute: (input) => runTool(name, input) }),
    ),
  });
const whole = async (tools) => {
  const { finalOutput, rawResponses } = await run(agent(tools), QUESTION);
  return { finalOutput, rawResponses };
};
const streamed = async (tools) => {
  const result = await run(agent(tools), QUESTION, { stream: true });
  const events = await Array.fromAsync(result, ({ type, name, data }) => ({ type, name, data }));
  await result.completed;
  return events;
};

await forms({
  text: () => whole([]),
  stream: () => streamed([]),
  tools: () => whole(DECLARED),
  'tools stream': () => streamed(DECLARED),
  undeclared: () => whole(UNDECLARED),
});
