import { isEqual } from './equal.ts';
import type { Container, EnvVariable } from './pod.ts';

/** A literal variable that injection writes. */
export interface WrittenVariable {
  name: string;
  value: string;
}

/**
 * A variable that injection wrote into the agent's container: its name, the written value, and the value before. Without a value
 * before, the variable was added; null: the variable existed without a value.
 */
export type WrittenRecord = [name: string, written: string, was?: string | null];

export const isWrittenRecord = (value: unknown): value is WrittenRecord =>
  Array.isArray(value) &&
  (value.length === 2 || (value.length === 3 && (value[2] === null || typeof value[2] === 'string'))) &&
  typeof value[0] === 'string' &&
  typeof value[1] === 'string';

/** The index of the variable that applies: the last one with the name; -1: none. */
const indexOf = (env: readonly EnvVariable[], name: string): number =>
  env.findLastIndex((variable) => variable.name === name);

/** The container with these variables: an existing literal gets the value, others are added at the end. */
export function writeVariables(
  container: Container,
  written: readonly WrittenVariable[],
): { container: Container; record: WrittenRecord[] } {
  if (written.length === 0) return { container, record: [] };
  const env = [...(container.env ?? [])];
  const record = written.map(({ name, value }): WrittenRecord => {
    const index = indexOf(env, name);
    const before = env[index];
    if (before === undefined) {
      env.push({ name, value });
      return [name, value];
    }
    env[index] = { ...before, value };
    return [name, value, before.value ?? null];
  });
  return { container: { ...container, env }, record };
}

/**
 * Undoes `writeVariables`. A variable that was changed after the injection is kept. The record is not trusted, because pod authors
 * can edit it: only variables for which `isOwn` holds are changed.
 */
export function restoreVariables(
  container: Container,
  record: readonly WrittenRecord[],
  isOwn: (written: WrittenVariable) => boolean,
): Container {
  const { env: given = [], ...rest } = container;
  const env = [...given];
  // Backwards: a name that was written twice gets its first value back.
  for (const [name, value, ...before] of record.toReversed()) {
    const index = indexOf(env, name);
    const current = env[index];
    if (current === undefined || current.value !== value || !isOwn({ name, value })) continue;
    const [was] = before;
    if (typeof was === 'string') env[index] = { ...current, value: was };
    else if (was === null) env[index] = withoutValue(current);
    else if (isEqual(current, { name, value })) env.splice(index, 1);
  }
  if (isEqual(env, given)) return container;
  return env.length > 0 ? { ...container, env } : rest;
}

function withoutValue({ value: _value, ...variable }: EnvVariable): EnvVariable {
  return variable;
}
