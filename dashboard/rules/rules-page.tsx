import { useRef, useState } from 'preact/hooks';
import { SEVERITIES } from '../../core/shapes/values.ts';
import { RuleLink, SeverityTag } from '../agent/links.tsx';
import { Loaded } from '../agent/loaded.tsx';
import type { RuleState } from '../../core/shapes/rule-state.ts';
import { useResource } from '../api/resource.ts';
import { formatNumber } from '../format.ts';
import { announce } from '../parts/announce.ts';
import { Button } from '../parts/button.tsx';
import { Card } from '../parts/card.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { Empty } from '../parts/empty.tsx';
import { useChange } from '../parts/use-change.ts';
import { hrefOf, type Route } from '../route.ts';
import { RuleDetail } from './rule-detail.tsx';
import { filterRules, findRule, groupRules, type RuleFilter } from './rule-list.ts';

/** Milliseconds; the counts need the whole fleet. */
const REFRESH_MS = 30_000;
const NO_FILTER: RuleFilter = { text: '', severity: null, isFailingOnly: false };

/** All rules with the agents that fail them, or one rule. */
export function RulesPage({ route: { id } }: { route: Extract<Route, { page: 'rules' }> }) {
  const rules = useResource<RuleState[]>('/api/v1/rules', { refreshMs: REFRESH_MS });
  // Kept while a rule is shown, so that the way back leads to the same list.
  const [filter, setFilter] = useState<RuleFilter>(NO_FILTER);
  const page = useRef<HTMLDivElement | null>(null);
  // Another rule is another page for the reader, although the shell keeps this one: it starts at the top, with the focus.
  useChange(id, () => {
    scrollTo(0, 0);
    page.current?.focus({ preventScroll: true });
    announce(id ?? 'Rules');
  });
  return (
    <div class="detail-page" ref={page} tabIndex={-1}>
      {(id === null || rules.data === null) && <h1>Rules</h1>}
      <Loaded resource={rules} what="rules">
        {(all) =>
          id === null ? <List rules={all} {...{ filter, setFilter }} /> : <Detail rules={all} id={id} />
        }
      </Loaded>
    </div>
  );
}

function Detail({ rules, id }: { rules: readonly RuleState[]; id: string }) {
  const rule = findRule(rules, id);
  const back = <a href={hrefOf({ page: 'rules', id: null })}>All rules</a>;
  if (rule !== null) return <RuleDetail rule={rule} searched={id} back={back} />;
  return (
    <>
      <h1>Rules</h1>
      <Empty title={`There is no rule ${id}`}>
        <p>A sidecar of another version may have rules that this control plane does not know.</p>
        <p>{back}</p>
      </Empty>
    </>
  );
}

interface FilterProps {
  filter: RuleFilter;
  setFilter(filter: RuleFilter): void;
}

function List({ rules, filter, setFilter }: FilterProps & { rules: readonly RuleState[] }) {
  const shown = filterRules(rules, filter);
  return (
    <>
      <Filters {...{ filter, setFilter }} />
      <p class="muted" role="status">
        {formatNumber(shown.length)} of {formatNumber(rules.length)} rules
      </p>
      {shown.length === 0 && (
        <Empty title="No rule matches the filter">
          <Button onClick={() => setFilter(NO_FILTER)}>Clear the filter</Button>
        </Empty>
      )}
      {groupRules(shown).map(({ title, rules: members }) => (
        <Card key={title} title={title}>
          <RuleTable title={title} rules={members} />
        </Card>
      ))}
    </>
  );
}

function Filters({ filter, setFilter }: FilterProps) {
  return (
    <form
      class="rule-filters wrap"
      role="search"
      aria-label="Rules"
      onSubmit={(event) => event.preventDefault()}
    >
      <label class="choice">
        Search
        <input
          type="search"
          value={filter.text}
          onInput={(event) => setFilter({ ...filter, text: event.currentTarget.value })}
        />
      </label>
      <label class="choice">
        Severity
        <select
          value={filter.severity ?? ''}
          onChange={({ currentTarget: { value } }) =>
            setFilter({ ...filter, severity: SEVERITIES.find((each) => each === value) ?? null })
          }
        >
          <option value="">All severities</option>
          {SEVERITIES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <label class="choice choice-check">
        <input
          type="checkbox"
          checked={filter.isFailingOnly}
          onChange={(event) => setFilter({ ...filter, isFailingOnly: event.currentTarget.checked })}
        />
        Only rules that agents fail
      </label>
    </form>
  );
}

function RuleTable({ title, rules }: { title: string; rules: readonly RuleState[] }) {
  return (
    <DataTable
      caption={title}
      rows={rules}
      rowKey={({ id }) => id}
      columns={[
        { title: 'Rule', width: '28%', render: ({ id }) => <RuleLink id={id} /> },
        { title: 'Title', width: '36%', render: (rule) => rule.title },
        { title: 'Severity', width: '10%', render: ({ severity }) => <SeverityTag severity={severity} /> },
        {
          title: 'Failing agents',
          numeric: true,
          width: '11%',
          render: ({ failingCount }) => <Count of={failingCount} />,
        },
        { title: 'Suppressed', numeric: true, width: '15%', render: (rule) => <Suppressed rule={rule} /> },
      ]}
    />
  );
}

/** A number that stands out unless it is zero. */
function Count({ of: count }: { of: number }) {
  return count === 0 ? <span class="muted">0</span> : <strong>{formatNumber(count)}</strong>;
}

function Suppressed({ rule: { suppressed, suppressedCount } }: { rule: RuleState }) {
  const expired = suppressed.filter(({ state }) => state === 'expired').length;
  return (
    <>
      {expired > 0 && <span class="note-tag is-bad">{formatNumber(expired)} expired</span>}{' '}
      <Count of={suppressedCount} />
    </>
  );
}
