import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { areSame, nextRows, visibleRows, type Layout, type VisibleRows } from './virtual-window.ts';

export interface ListWindow {
  visible: VisibleRows;
  rowHeight: number;
  /** Reads the current position. */
  layout: () => Layout;
}

/** The first rendering of a page has it, so that the position of an earlier visit exists. */
let lastRowHeight = 40;

/**
 * The rows of a list that the window shows. The page scrolls, not an element in it, so that phones hide their address bar.
 * The custom property `--row-height` of the list has the height of a row, so that styles and code cannot differ.
 * @param onScroll the same function in each call
 */
export function useWindow(
  rows: number,
  list: { current: HTMLElement | null },
  onScroll: () => void,
): ListWindow {
  const [visible, setVisible] = useState<VisibleRows>({ first: 0, last: 30 });
  const [rowHeight, setRowHeight] = useState(lastRowHeight);
  const shown = useRef(visible);
  const frame = useRef(0);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  // The listeners live longer than one rendering.
  const sizes = useRef({ rows, rowHeight });
  sizes.current = { rows, rowHeight };
  const layout = (): Layout => ({
    ...sizes.current,
    listTop: list.current?.getBoundingClientRect().top ?? 0,
    windowHeight: innerHeight,
    covered: coveredBy(list.current),
  });
  const update = (): void => {
    const wanted = visibleRows(layout());
    const next = nextRows(shown.current, wanted);
    if (!areSame(next, shown.current)) setVisible(next);
    shown.current = next;
    cancelAnimationFrame(frame.current);
    if (!areSame(next, wanted)) frame.current = requestAnimationFrame(update);
  };
  const measure = (): void => {
    if (list.current !== null) lastRowHeight = rowHeightOf(list.current);
    setRowHeight(lastRowHeight);
    update();
  };
  useLayoutEffect(measure, [rows, rowHeight]);
  useEffect(
    () =>
      listen(measure, () => {
        onScroll();
        update();
      }),
    [],
  );
  return { visible, rowHeight, layout };
}

/** Calls the functions when the window changes, and when something above the list grows. Returns a function that ends this. */
function listen(whenResized: () => void, whenScrolled: () => void): () => void {
  const observer = new ResizeObserver(whenResized);
  observer.observe(document.body);
  addEventListener('resize', whenResized);
  addEventListener('scroll', whenScrolled, { passive: true });
  return () => {
    observer.disconnect();
    removeEventListener('resize', whenResized);
    removeEventListener('scroll', whenScrolled);
  };
}

/** The property is in rem, so that rows grow with the font size of the reader. */
function rowHeightOf(list: HTMLElement): number {
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return Number.parseFloat(getComputedStyle(list).getPropertyValue('--row-height')) * rem;
}

/** The headings stay at the top of the window. In a narrow window they are hidden, and the header of the page remains. */
function coveredBy(list: HTMLElement | null): number {
  const headings = list?.previousElementSibling?.getBoundingClientRect().bottom ?? 0;
  const header = document.querySelector('.shell-header')?.getBoundingClientRect().bottom ?? 0;
  return Math.max(headings, header);
}
