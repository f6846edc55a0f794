import type { JSX, TargetedEvent, TargetedKeyboardEvent } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { announce } from '../parts/announce.ts';
import { COLUMNS, type GridColumn } from './columns.tsx';
import type { Filters } from './filters.ts';
import { GridRow } from './grid-row.tsx';
import { rowKey, type FleetRow } from './rows.ts';
import { useWindow } from './use-window.ts';
import { filters, setFilters } from './view.ts';
import { distanceTo, rowAfter, type Layout } from './virtual-window.ts';

/**
 * The table of agents. Only the rows in the window exist, so that 10,000 agents scroll like ten.
 * @param onScroll the same function in each call
 */
export function Grid({ rows, onScroll }: { rows: readonly FleetRow[]; onScroll: () => void }): JSX.Element {
  const body = useRef<HTMLDivElement>(null);
  const { visible, rowHeight, layout } = useWindow(rows.length, body, onScroll);
  const { active, onKeyDown, onFocusIn } = useActiveRow(rows, body, layout);
  return (
    <div class="grid" role="grid" aria-label="Agents" aria-rowcount={rows.length + 1}>
      <Headings />
      <div
        ref={body}
        class="grid-body"
        role="rowgroup"
        style={{ height: `${rows.length * rowHeight}px` }}
        onKeyDown={onKeyDown}
        onFocusIn={onFocusIn}
      >
        {indexesOf(visible.first, Math.min(visible.last, rows.length), active).map((index) => {
          const row = rows[index];
          if (row === undefined) return null;
          const top = index * rowHeight;
          return <GridRow key={rowKey(row)} {...{ row, index, top }} isActive={index === active} />;
        })}
      </div>
    </div>
  );
}

type Body = HTMLDivElement;

interface ActiveRow {
  active: number;
  onKeyDown: (event: TargetedKeyboardEvent<Body>) => void;
  onFocusIn: (event: TargetedEvent<Body, FocusEvent>) => void;
}

/** One row is active: the tab key leads to it, and the arrow keys move from it. It stays active when others move. */
function useActiveRow(
  rows: readonly FleetRow[],
  body: { current: Body | null },
  layout: () => Layout,
): ActiveRow {
  const [activeKey, setActiveKey] = useState('');
  const active = useMemo(
    () =>
      Math.max(
        0,
        rows.findIndex((row) => rowKey(row) === activeKey),
      ),
    [rows, activeKey],
  );
  const wantFocus = useKeptFocus(body);
  return {
    active,
    onKeyDown(event) {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const target = rowAfter(event.key, active, layout());
      const row = target === null ? undefined : rows[target];
      if (target === null || row === undefined) return;
      event.preventDefault();
      // Without a change nothing would render, and a later rendering would take the focus from another place.
      if (target !== active) wantFocus();
      setActiveKey(rowKey(row));
      scrollBy(0, distanceTo(target, layout()));
    },
    onFocusIn(event) {
      const row = (event.target as Element).closest<HTMLElement>('[data-key]');
      if (row !== null) setActiveKey(row.dataset['key'] ?? '');
    },
  };
}

/** The rows that exist, in order: those in the window, and the active one, so that it keeps the focus when it scrolls out. */
function indexesOf(first: number, last: number, active: number): number[] {
  const indexes = Array.from({ length: Math.max(0, last - first) }, (_each, index) => first + index);
  if (active < first) return [active, ...indexes];
  return active >= last ? [...indexes, active] : indexes;
}

/**
 * Moves the focus to the active row after the returned function was called. A browser takes the focus from a row that live
 * updates move to another place: then the row gets it back.
 */
function useKeptFocus(body: { current: Body | null }): () => void {
  const isWanted = useRef(false);
  // A rendering starts before the rows move.
  const hadFocus = body.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    const isLost = hadFocus && document.activeElement === document.body;
    if (!isWanted.current && !isLost) return;
    isWanted.current = false;
    body.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
  });
  return () => {
    isWanted.current = true;
  };
}

function Headings(): JSX.Element {
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
