import type { Known } from '../../core/egress/matrix-state.ts';
import { DataTable } from '../parts/data-table.tsx';
import { RuleLink } from './links.tsx';
import { TAGS, type ShownRow } from './matrix-rows.ts';
import { Prose } from './prose.tsx';

/** What the manifest declares, what the agent reports and what was observed, item by item. */
export function MatrixTable({ rows }: { rows: readonly ShownRow[] }) {
  return (
    <div class="matrix">
      <DataTable
        caption="Declared, reported and observed items, contradictions first"
        rows={rows}
        rowKey={({ kind, name }) => `${kind} ${name}`}
        empty="Nothing is declared, reported or observed."
        columns={[
          {
            title: 'Item',
            width: '24%',
            render: ({ kind, name }) => (
              <>
                <span class="muted">{kind}</span> <code>{name}</code>
              </>
            ),
          },
          { title: 'Declared', width: '9%', render: (row) => <Cell value={row.declared} /> },
          { title: 'Reported', width: '9%', render: (row) => <Cell value={row.reported} /> },
          { title: 'Observed', width: '9%', render: (row) => <Cell value={row.observed} /> },
          {
            title: 'State',
            width: '11%',
            render: ({ verdict }) => <span class={`note-tag ${TAGS[verdict]}`}>{verdict}</span>,
          },
          { title: 'Fix', width: '38%', render: (row) => <Fix row={row} /> },
        ]}
      />
    </div>
  );
}

function Cell({ value }: { value: Known }) {
  return <span class={`known known-${value}`}>{value === null ? 'Unknown' : value ? 'Yes' : 'No'}</span>;
}

function Fix({ row: { description, remedy, rule } }: { row: ShownRow }) {
  if (remedy === null) return null;
  return (
    <>
      {description !== null && <p>{description}</p>}
      <p>
        <Prose text={remedy} />
      </p>
      {rule !== null && <RuleLink id={rule} />}
    </>
  );
}
