import type { TargetedEvent, TargetedKeyboardEvent } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { formatNumber } from '../format.ts';
import { announce } from '../parts/announce.ts';
import { Button } from '../parts/button.tsx';
import { COLUMNS, type GridColumn } from './columns.tsx';
import type { Filters } from './filters.ts';
import { GridRow } from './grid-row.tsx';
import { rowKey, type FleetRow } from './rows.ts';
import { filters, PAGE_ROWS, pageIndex, setFilters } from './view.ts';

/** The table of agents, in pages. */
export function Grid({ rows }: { rows: readonly FleetRow[] }) {
  const body = useRef<Body>(null);
  // Agents may be removed while their page is shown.
  const page = Math.min(pageIndex.value, Math.ceil(rows.length / PAGE_ROWS) - 1);
  const start = page * PAGE_ROWS;
  const shown = rows.slice(start, start + PAGE_ROWS);
  const { active, onKeyDown, onFocusIn } = useActiveRow(shown, body);
  return (
    <>
      <div class="grid" role="grid" aria-label="Agents" aria-rowcount={rows.length + 1}>
        <Headings />
        <div ref={body} class="grid-body" role="rowgroup" onKeyDown={onKeyDown} onFocusIn={onFocusIn}>
          {shown.map((row, index) => (
            <GridRow key={rowKey(row)} row={row} index={start + index} isActive={index === active} />
          ))}
        </div>
      </div>
      {rows.length > PAGE_ROWS && <Pages page={page} rows={rows.length} />}
    </>
  );
}

function Pages({ page, rows }: { page: number; rows: number }) {
  const last = Math.ceil(rows / PAGE_ROWS) - 1;
  const open = (next: number): void => {
    pageIndex.value = next;
    scrollTo(0, 0);
  };
  return (
    <nav class="pages" aria-label="Pages of agents">
      <Button isDisabled={page === 0} onClick={() => open(page - 1)}>
        Previous
      </Button>
      <p class="muted" role="status">
        Page {formatNumber(page + 1)} of {formatNumber(last + 1)}
      </p>
      <Button isDisabled={page === last} onClick={() => open(page + 1)}>
        Next
      </Button>
    </nav>
  );
}

type Body = HTMLDivElement;

/** One row is active: the tab key leads to it, and the arrow keys move from it. It stays active when others move. */
function useActiveRow(rows: readonly FleetRow[], body: { current: Body | null }) {
  const [activeKey, setActiveKey] = useState('');
  const found = useMemo(() => rows.findIndex((row) => rowKey(row) === activeKey), [rows, activeKey]);
  const active = Math.max(0, found);
  // A browser takes the focus from a row that live updates move. A rendering starts before the rows move.
  const hadFocus = body.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    if (hadFocus && document.activeElement === document.body) focusRow(body.current?.children[active]);
  });
  return {
    active,
    onKeyDown(event: TargetedKeyboardEvent<Body>) {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const target = targetOf(event.key, active, event.currentTarget.children);
      if (target === undefined) return;
      event.preventDefault();
      focusRow(target);
      target.scrollIntoView({ block: 'nearest' });
    },
    onFocusIn(event: TargetedEvent<Body, FocusEvent>) {
      const row = (event.target as Element).closest<HTMLElement>('[data-key]');
      if (row !== null) setActiveKey(row.dataset['key'] ?? '');
    },
  };
}

/** The row that a key leads to; undefined: the key does not move. */
function targetOf(key: string, active: number, rows: HTMLCollection): Element | undefined {
  const page = Math.max(1, Math.floor(innerHeight / (rows[active]?.clientHeight ?? innerHeight)) - 2);
  const steps = new Map([
    ['ArrowDown', 1],
    ['ArrowUp', -1],
    ['PageDown', page],
    ['PageUp', -page],
    ['Home', -rows.length],
    ['End', rows.length],
  ]);
  const step = steps.get(key);
  return step === undefined ? undefined : rows[Math.min(rows.length - 1, Math.max(0, active + step))];
}

function focusRow(row: Element | undefined): void {
  row?.querySelector<HTMLElement>('a, button')?.focus({ preventScroll: true });
}

function Headings() {
  const current = filters.value;
  return (
    <div class="grid-headings" role="rowgroup">
      <div class="grid-row" role="row" aria-rowindex={1}>
        {COLUMNS.map((column) => (
          <div
            key={column.key}
            class={column.isNumeric ? `cell col-${column.key} numeric` : `cell col-${column.key}`}
            role="columnheader"
            aria-sort={sortOf(column, current)}
          >
            <button type="button" class="sort-button" onClick={() => sortBy(column, current)}>
              {column.title}
            </button>
          </div>
        ))}
      </div>
    </div>
  );
}

function sortOf({ key }: GridColumn, current: Filters): 'ascending' | 'descending' | 'none' {
  if (key !== current.sort) return 'none';
  return current.isDescending ? 'descending' : 'ascending';
}

/** Another column sorts in its own direction first, the same one in the other direction. */
function sortBy({ key, title, isDescendingFirst }: GridColumn, current: Filters): void {
  const isDescending = key === current.sort ? !current.isDescending : isDescendingFirst;
  setFilters({ sort: key, isDescending });
  announce(`Sorted by ${title}, ${isDescending ? 'descending' : 'ascending'}`);
}
