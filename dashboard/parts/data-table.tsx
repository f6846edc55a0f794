import type { ComponentChildren } from 'preact';

export interface Column<R> {
  /** Of one table, no two columns have the same. */
  title: string;
  /** Aligned to the right. */
  numeric?: boolean;
  /** A CSS length or percentage. With it the columns do not depend on the texts, so that tables of a page align. */
  width?: string;
  render(row: R): ComponentChildren;
}

export interface DataTableProps<R> {
  /** Names the table for screen readers. */
  caption: string;
  columns: readonly Column<R>[];
  rows: readonly R[];
  rowKey: (row: R) => string;
  /** Shown instead of a table without rows. */
  empty?: ComponentChildren;
}

/**
 * A table for up to some hundred rows. In a narrow window each row is a block of labelled values. The roles are stated, because
 * blocks are no table for some screen readers.
 */
export function DataTable<R>({ caption, columns, rows, rowKey, empty }: DataTableProps<R>) {
  if (rows.length === 0) return <div class="table-empty">{empty}</div>;
  const align = (column: Column<R>): string | undefined => (column.numeric === true ? 'numeric' : undefined);
  return (
    <div class="table-scroll" role="region" aria-label={caption} tabIndex={0}>
      <table class={columns.some(({ width }) => width !== undefined) ? 'is-fixed' : undefined} role="table">
        <caption class="visually-hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <th
                key={column.title}
                scope="col"
                role="columnheader"
                class={align(column)}
                style={column.width === undefined ? undefined : { width: column.width }}
              >
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={rowKey(row)} role="row">
              {columns.map((column) => (
                <td key={column.title} role="cell" class={align(column)} data-label={column.title}>
                  <div>{column.render(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
