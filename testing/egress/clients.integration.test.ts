// Runs real client libraries through the egress lanes: the light ones in `make test`, all in `make soak`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { VENDOR_LANES } from '../../core/egress/lane-variables.ts';
import { whyNoPackages } from '../frameworks/programs.ts';
import {
  languageOf,
  type ClientResult,
  type ClientRow,
  type McpClientResult,
  type McpClientRow,
} from './client-row.ts';
import { CLIENT_ROWS } from './client-rows.ts';
import { startLaneRig, type LaneRig } from './lane-rig.ts';
import { MCP_CLIENT_ROWS } from './mcp-client-rows.ts';
import { runClient } from './run-client.ts';
import { runMcpClient } from './run-mcp-client.ts';

const recorded = <Result>(file: string): Result[] =>
  JSON.parse(readFileSync(join(import.meta.dirname, file), 'utf8')) as Result[];
const RESULTS = recorded<ClientResult>('client-results.json');
const MCP_RESULTS = recorded<McpClientResult>('mcp-client-results.json');
const IS_SOAK = process.env['SOAK'] === '1';

let rig: LaneRig;
beforeAll(async () => {
  rig = await startLaneRig();
});
afterAll(() => rig.close());

/** Missing packages are installed only by `make soak`. */
const runnerOf = ({ packages }: Pick<ClientRow, 'packages'>) =>
  whyNoPackages(packages, IS_SOAK) === undefined ? test : test.skip;
const chosen = ({ weight }: Pick<ClientRow, 'weight'>): boolean => IS_SOAK || weight === 'light';

describe('a client of models receives what the vendor sent, and is stopped from what is not declared', () => {
  for (const row of CLIENT_ROWS.filter(chosen))
    runnerOf(row)(row.name, async () => {
      expect(await runClient(row, rig)).toEqual(RESULTS.find(({ name }) => name === row.name));
    });
});

describe('a client of an MCP server calls declared tools, and forbidden tools do not run', () => {
  for (const row of MCP_CLIENT_ROWS.filter(chosen))
    runnerOf(row)(row.name, async () => {
      expect(await runMcpClient(row, rig)).toEqual(MCP_RESULTS.find(({ name }) => name === row.name));
    });
});

describe('the table', () => {
  const all: readonly (ClientRow | McpClientRow)[] = [...CLIENT_ROWS, ...MCP_CLIENT_ROWS];

  test('has at least 25 client libraries in two languages', () => {
    expect(new Set(all.map((row) => `${row.client} ${languageOf(row)}`)).size).toBeGreaterThanOrEqual(25);
    expect(new Set(all.map(languageOf))).toEqual(new Set(['JavaScript', 'Python']));
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  });

  test('is in the documentation', () => {
    expect(RESULTS.map(({ name }) => name)).toEqual(CLIENT_ROWS.map(({ name }) => name));
    expect(MCP_RESULTS.map(({ name }) => name)).toEqual(MCP_CLIENT_ROWS.map(({ name }) => name));
  });

  test('has a client for every variable that the injector writes', () => {
    const variables = Object.values(VENDOR_LANES).flatMap((lane) => lane.variables.map(({ name }) => name));
    const used = new Set(CLIENT_ROWS.map(({ variable }) => variable));
    expect(variables.filter((name) => !used.has(name))).toEqual(NOT_IN_THE_TABLE);
  });
});

/** AnthropicVertex requires credentials of Google Cloud. LiteLLM reads the variable of xAI by its source; no run recorded it. */
const NOT_IN_THE_TABLE = ['ANTHROPIC_VERTEX_BASE_URL', 'XAI_API_BASE'];
