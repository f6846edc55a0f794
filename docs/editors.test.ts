import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { COMMAND_NAMES } from '../cli/program.ts';
import { VARIABLES } from '../cli/mcp/target.ts';

const PAGE = readFileSync(join(import.meta.dirname, 'guide/editors.md'), 'utf8');

interface Entry {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** The JSON blocks of the page. */
const BLOCKS = [...PAGE.matchAll(/^```json\n(.*?)^```$/gms)].map(
  ([, body = '']) => JSON.parse(body) as Record<string, Record<string, Entry>>,
);

test('every entry for an assistant starts platform mcp with known variables', () => {
  const entries = BLOCKS.flatMap(({ mcpServers, servers }) => Object.values(mcpServers ?? servers ?? {}));
  expect(entries).toHaveLength(3);
  expect(COMMAND_NAMES).toContain('mcp');
  for (const { command, args, env } of entries) {
    expect([command, ...args].join(' ')).toMatch(
      /^(?:npx -y agent-compliance|platform) mcp(?: --root \S+)?$/,
    );
    const variables: readonly string[] = Object.values(VARIABLES);
    expect(Object.keys(env).filter((name) => !variables.includes(name))).toEqual([]);
  }
});

test('the table of arguments, variables and settings is complete', () => {
  for (const [argument, variable] of Object.entries(VARIABLES))
    expect(PAGE).toMatch(
      new RegExp(`\`${argument}\` +\\| \`${variable}\` +\\| \`(?:cluster\\.)?${argument}\``),
    );
});
