import type { SqlValue } from './sql-database.ts';

/**
 * The name of the column where an index of another column is the right one: SQLite looks for each name of an `IN` in the key of the
 * table, where a row is long.
 */
export const NAMESPACE = "(namespace || '')";

/**
 * The right side of `IN`. The number of parameters is a power of two, so that the number of prepared statements is small. The list
 * may be empty.
 * @param first the number of the first parameter
 */
export function inList(values: readonly string[], first: number): { text: string; values: SqlValue[] } {
  const size = 2 ** Math.ceil(Math.log2(Math.max(1, values.length)));
  const parameters = Array.from({ length: size }, (_, index) => `$${first + index}`);
  return {
    text: `(${parameters.join(', ')})`,
    values: parameters.map((_, index) => values[index] ?? values[0] ?? null),
  };
}
