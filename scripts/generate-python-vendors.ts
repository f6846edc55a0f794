import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAiLike } from '../core/vendors/openai-like.ts';
import type { ModelApi, Vendor } from '../core/vendors/vendor.ts';
import { VENDORS } from '../core/vendors/vendors.ts';

/** The module of the Python reporter with the vendors, a part of which is generated: a module of its own would make the wheel larger. */
export const PYTHON_PROBES = 'python/src/agent_compliance/_probes.py';
const [BEGIN, END] = ['# Generated from core/vendors.\n', '# End of the generated part.\n'];

/** The text of PYTHON_PROBES with the vendors of core/vendors, in the form that ruff writes. */
export function pythonProbes(): string {
  const text = readFileSync(join(import.meta.dirname, '..', PYTHON_PROBES), 'utf8');
  const [start, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (start < 0 || end < start) throw new Error(`${PYTHON_PROBES} has no generated part`);
  return text.slice(0, start) + BEGIN + vendorTables() + text.slice(end);
}

function vendorTables(): string {
  const vendors = Object.entries<Vendor>(VENDORS);
  const apis = vendors.flatMap(([name, { api }]) => (api === null ? [] : [[name, api] as const]));
  const checks = apis.map(([name, api]) => [name, check(api)] as const);
  const usual = check(openAiLike(null));
  return [
    dict(
      '_BASE_URLS',
      apis.flatMap(([name, { baseUrl }]) => (baseUrl === null ? [] : [[name, quoted(baseUrl)] as const])),
    ),
    dict(
      '_CLIENTS',
      vendors.flatMap(([name, { client }]) =>
        client === undefined ? [] : [[name, `(${quoted(client.name)}, ${quoted(client.path)})`] as const],
      ),
    ),
    dict(
      '_VARIABLES',
      vendors.flatMap(([name, { variable }]) =>
        variable === undefined ? [] : [[name, quoted(variable)] as const],
      ),
    ),
    `_OPENAI: Vendor = ${usual}\n`,
    dict(
      '_OTHERS: dict[str, Vendor]',
      checks.filter(([, row]) => row !== usual),
    ),
    dict(
      '_ALIASES',
      vendors.flatMap(([name, { aliases }]) => aliases.map((alias) => [alias, quoted(name)] as const)),
    ),
  ].join('');
}

const quoted = (text: string): string => JSON.stringify(text);

function dict(name: string, rows: readonly (readonly [key: string, value: string])[]): string {
  return `${name} = {\n${rows.map(([key, value]) => `    ${quoted(key)}: ${value},\n`).join('')}}\n`;
}

/** The path, the header of the key, other headers, and the statuses that mean a rejected key. */
function check({ checkPath, keyHeader, headers, rejected }: ModelApi): string {
  const others = Object.entries(headers).map(([name, value]) => `${quoted(name)}: ${quoted(value)}`);
  const statuses = rejected.map((status) => `${status},`).join(' ');
  return `(${quoted(checkPath)}, ${quoted(keyHeader)}, {${others.join(', ')}}, (${statuses}))`;
}
