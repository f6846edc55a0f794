import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { guardTable, type Injection } from '../core/injection/guard-table.ts';
import { SIDECAR_FIELDS } from '../sidecar/config.ts';

const PREVIOUS = join(import.meta.dirname, '../core/injection/previous');

/** `files/guard.yaml` of the chart: what the guard accepts of injected containers, from the injector's own functions. */
export function chartGuardTable(): string {
  const files = globSync('*.json', { cwd: PREVIOUS }).sort();
  const previous = files.map((file) => JSON.parse(readFileSync(join(PREVIOUS, file), 'utf8')) as Injection);
  // What no chart value may add to the sidecar.
  const table = { ...guardTable(previous), sidecarVariables: Object.keys(SIDECAR_FIELDS).sort() };
  const head = [
    '# Made by scripts/generate.ts from core/injection (guard-table.ts, previous/). Do not edit.',
    '# What the guard accepts of injected containers. Helm reads YAML 1.1, in which off is false.',
  ];
  return `${head.join('\n')}\n${stringify(table, { version: '1.1', aliasDuplicateObjects: false })}`;
}
