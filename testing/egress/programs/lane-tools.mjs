// Shared by the JavaScript programs of the lanes: the tools, which count their runs, and the command loop.
import { call, QUESTION } from './common.mjs';

const number = { type: 'number' };
const schema = (properties) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

const TOOLS = {
  multiply: {
    description: 'Multiplies two numbers.',
    parameters: schema({ a: number, b: number }),
    run: ({ a, b }) => String(a * b),
  },
  delete_order: {
    description: 'Deletes an order.',
    parameters: schema({ order: { type: 'string' } }),
    run: ({ order }) => `${order} is deleted`,
  },
  drop_table: { description: 'Drops a table.', parameters: schema({}), run: () => 'dropped' },
};

/** Names of the tools that ran since the begin of the form. */
const ran = [];

/** Runs a tool. `input`: JSON text or an object. */
export function runTool(name, input) {
  ran.push(name);
  return TOOLS[name].run(typeof input === 'string' ? JSON.parse(input || '{}') : input);
}

const listed = (names) => names.map((name) => ({ name, ...TOOLS[name] }));
/** The manifest declares both. */
export const DECLARED = listed(['multiply', 'delete_order']);
/** The manifest does not declare the last one. */
export const UNDECLARED = listed(['multiply', 'drop_table']);

/** Runs forms on command: each returns what the client received, and the tools that ran. */
export const forms = (answers) =>
  call(
    Object.fromEntries(
      Object.entries(answers).map(([name, answer]) => [
        name,
        async () => {
          ran.length = 0;
          const received = await answer();
          return { received, ran: [...ran] };
        },
      ]),
    ),
  );

export { QUESTION };
