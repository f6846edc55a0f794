import type { EgressSummary } from '../../core/shapes/egress.ts';
import type { Issue } from '../../core/shapes/gap.ts';
import { DataTable } from '../parts/data-table.tsx';
import { egressRows } from './egress-rows.ts';
import { RuleLink } from './links.tsx';
import { Prose } from './prose.tsx';

/** What is known of the matrix from the names in the summary and from the issues. */
export function DifferencesTable({ egress, issues }: { egress: EgressSummary; issues: readonly Issue[] }) {
  return (
    <DataTable
      caption="Differences between manifest, report and observation"
      rows={egressRows(egress, issues)}
      rowKey={({ item, rule }) => `${item} ${rule ?? ''}`}
      empty="No difference has an issue."
      columns={[
        { title: 'Item', width: '20%', render: ({ item }) => <code>{item}</code> },
        {
          title: 'State',
          width: '14%',
          render: ({ state }) => (
            <span class={`note-tag ${state === 'undeclared' ? 'is-bad' : 'is-warn'}`}>{state}</span>
          ),
        },
        {
          title: 'Observation',
          width: '36%',
          render: ({ description, rule }) => (
            <>
              <p>{description}</p>
              {rule !== null && <RuleLink id={rule} />}
            </>
          ),
        },
        { title: 'Fix', width: '30%', render: ({ remedy }) => <Prose text={remedy} /> },
      ]}
    />
  );
}
