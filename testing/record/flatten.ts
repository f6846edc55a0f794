/**
 * An event as a row: the names of its members with dots, and the values of lists in their order. `platform audit-log columns`
 * lists the names.
 */
export function flatten(
  value: unknown,
  name = '',
  row: Record<string, unknown[]> = {},
): Record<string, unknown[]> {
  if (Array.isArray(value)) for (const each of value) flatten(each, name, row);
  else if (typeof value === 'object' && value !== null)
    for (const [key, each] of Object.entries(value)) flatten(each, name === '' ? key : `${name}.${key}`, row);
  else (row[name] ??= []).push(value);
  return row;
}
