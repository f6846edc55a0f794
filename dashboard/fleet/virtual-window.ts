/** A list of rows with one height, in a window that scrolls. All lengths in pixels. */
export interface Layout {
  rows: number;
  rowHeight: number;
  /** Top of the list relative to the top of the window; negative: scrolled out. */
  listTop: number;
  /** Height of the window. */
  windowHeight: number;
  /** Height at the top of the window that fixed headers cover. */
  covered: number;
}

/** The rows from `first` to before `last`. */
export interface VisibleRows {
  first: number;
  last: number;
}

/** Rows above and below the visible ones. With them, most steps of a scroll show rows that already exist. */
const MARGIN = 6;
/** The window moves by this many rows at a time, so that not every step of a scroll renders. */
const STEP = 2;

/** The rows that must exist. */
export function visibleRows({ rows, rowHeight, listTop, windowHeight }: Layout): VisibleRows {
  const top = Math.floor(-listTop / rowHeight);
  const bottom = Math.ceil((windowHeight - listTop) / rowHeight);
  const within = (row: number): number => Math.min(rows, Math.max(0, row));
  return {
    first: within(Math.floor((top - MARGIN) / STEP) * STEP),
    last: within(Math.ceil((bottom + MARGIN) / STEP) * STEP),
  };
}

/** Rows that one frame adds. A jump fills the window in some frames, so that no frame takes long. */
const MAX_ADDED = 12;

/** The rows of the next frame on the way from `old` to `wanted`: those that stay, and at most twelve more, the lower ones first. */
export function nextRows(old: VisibleRows, wanted: VisibleRows): VisibleRows {
  const isJump = old.last <= wanted.first || old.first >= wanted.last;
  // After a jump, from the first row that the reader sees.
  const start = Math.min(wanted.last, wanted.first + MARGIN);
  const first = isJump ? start : Math.max(old.first, wanted.first);
  const last = isJump ? start : Math.min(old.last, wanted.last);
  const nextLast = Math.min(wanted.last, last + MAX_ADDED);
  return { first: Math.max(wanted.first, first - (MAX_ADDED - (nextLast - last))), last: nextLast };
}

export const areSame = (a: VisibleRows, b: VisibleRows): boolean => a.first === b.first && a.last === b.last;

/** Pixels by which the window has to scroll until the row is completely visible; 0: it is. */
export function distanceTo(row: number, { rowHeight, listTop, windowHeight, covered }: Layout): number {
  const top = listTop + row * rowHeight;
  if (top < covered) return top - covered;
  return Math.max(0, top + rowHeight - windowHeight);
}

/** The row that a key leads to; null: the key does not move. */
export function rowAfter(key: string, row: number, layout: Layout): number | null {
  const { rows, rowHeight, windowHeight, covered } = layout;
  const page = Math.max(1, Math.floor((windowHeight - covered) / rowHeight) - 1);
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: row + 1,
    ArrowUp: row - 1,
    PageDown: row + page,
    PageUp: row - page,
    Home: 0,
    End: rows - 1,
  };
  const target = Object.hasOwn(targets, key) ? targets[key] : undefined;
  return target === undefined ? null : Math.min(rows - 1, Math.max(0, target));
}
