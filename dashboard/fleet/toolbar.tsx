import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { GRADES, PHASES } from '../../core/shapes/values.ts';
import { formatNumber } from '../format.ts';
import { Button } from '../parts/button.tsx';
import { COLUMNS } from './columns.tsx';
import { hasConditions, withoutConditions } from './filters.ts';
import { filters, matches, namespaces, setFilters, summary } from './view.ts';

/** Browsers limit how often a page changes its address. */
const TYPING_MS = 120;

/** Search, filters, grouping and, for phones, the order. */
export function Toolbar() {
  const current = filters.value;
  const { grades, phases } = matches.value;
  return (
    <div class="toolbar wrap" role="search" aria-label="Agents">
      <Search />
      <NamespaceSelect />
      <Toggle isOn={current.isFailingOnly} change={(isFailingOnly) => setFilters({ isFailingOnly })}>
        Failures only
      </Toggle>
      <Toggle isOn={current.isStoppedOnly} change={(isStoppedOnly) => setFilters({ isStoppedOnly })}>
        Stopped only
      </Toggle>
      <Toggle isOn={current.isGrouped} change={(isGrouped) => setFilters({ isGrouped })}>
        Group by namespace
      </Toggle>
      <SortSelect />
      <Chips
        label="Grade"
        all={GRADES}
        chosen={current.grades}
        counts={grades}
        choose={(next) => setFilters({ grades: next })}
      />
      <Chips
        label="Phase"
        all={PHASES}
        chosen={current.phases}
        counts={phases}
        choose={(next) => setFilters({ phases: next })}
      />
      <p class="toolbar-count muted" role="status">
        {formatNumber(summary.value.agents)} shown
      </p>
      {hasConditions(current) && (
        <Button onClick={() => setFilters(withoutConditions(current))}>Clear filters</Button>
      )}
    </div>
  );
}

function Search() {
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const { search } = filters.value;
  // The address changed by itself: a link, the button that clears, or the way back.
  useEffect(() => {
    if (timer.current === undefined && input.current !== null) input.current.value = search;
  }, [search]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const whenTyped = (): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      timer.current = undefined;
      setFilters({ search: input.current?.value ?? '' });
    }, TYPING_MS);
  };
  return (
    <label class="toolbar-search">
      <span class="visually-hidden">Search agents by name, namespace or id</span>
      <input
        ref={input}
        type="search"
        placeholder="Search agents"
        autocomplete="off"
        spellcheck={false}
        onInput={whenTyped}
      />
    </label>
  );
}

function NamespaceSelect() {
  const { namespace } = filters.value;
  // A namespace of the address may have no agents now.
  const all = [...new Set([...namespaces.value, ...(namespace === null ? [] : [namespace])])];
  return (
    <label class="toolbar-field">
      <span class="muted">Namespace</span>
      <select
        value={namespace ?? ''}
        onChange={({ currentTarget: { value } }) => setFilters({ namespace: value === '' ? null : value })}
      >
        <option value="">All</option>
        {all.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Narrow windows show no headings to sort by. */
function SortSelect() {
  const { sort, isDescending } = filters.value;
  return (
    <div class="toolbar-field toolbar-sort">
      <label>
        <span class="muted">Sort by</span>
        <select
          value={sort}
          onChange={({ currentTarget: { value } }) => {
            const column = COLUMNS.find(({ key }) => key === value);
            if (column !== undefined)
              setFilters({ sort: column.key, isDescending: column.isDescendingFirst });
          }}
        >
          {COLUMNS.map(({ key, title }) => (
            <option key={key} value={key}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <Toggle isOn={isDescending} change={(next) => setFilters({ isDescending: next })}>
        Descending
      </Toggle>
    </div>
  );
}

interface ChipsProps<T extends string> {
  label: string;
  all: readonly T[];
  chosen: readonly T[];
  counts: Readonly<Record<T, number>>;
  choose: (chosen: T[]) => void;
}

/** Choices of which several can be on, with the number of agents that each has. */
function Chips<T extends string>({ label, all, chosen, counts, choose }: ChipsProps<T>) {
  return (
    <div class="chips wrap" role="group" aria-label={label}>
      {all.map((each) => {
        const isOn = chosen.includes(each);
        return (
          <Toggle
            key={each}
            isOn={isOn}
            change={() => choose(all.filter((other) => (other === each ? !isOn : chosen.includes(other))))}
          >
            {each} <span class="chip-count">{formatNumber(counts[each])}</span>
          </Toggle>
        );
      })}
    </div>
  );
}

interface ToggleProps {
  isOn: boolean;
  change: (isOn: boolean) => void;
  children?: ComponentChildren;
}

function Toggle({ isOn, change, children }: ToggleProps) {
  return (
    <button type="button" class="chip" aria-pressed={isOn} onClick={() => change(!isOn)}>
      {children}
    </button>
  );
}
