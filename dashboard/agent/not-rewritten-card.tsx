import { NOT_REWRITTEN_REASONS } from '../../core/egress/not-rewritten.ts';
import type { NotRewrittenReason } from '../../core/shapes/values.ts';
import type { NotRewritten } from '../../core/shapes/egress.ts';
import { Card } from '../parts/card.tsx';
import { DataTable } from '../parts/data-table.tsx';

const FIXES: Readonly<Record<NotRewrittenReason, string>> = {
  reference: 'Give the container the variable as a literal value.',
  envfrom: 'Give the container the variable as a literal value, or remove it from the source of envFrom.',
  absent: 'Add the variable to the container, with the address of the vendor as its value.',
  azure: 'Use the lane azure for this agent.',
  'other-upstream': 'Give all variables of the lane the same address.',
  set: 'Remove the variable from the container, so that the injector sets it.',
};

/** The variables whose clients may bypass a lane. */
export function NotRewrittenCard({ list }: { list: readonly NotRewritten[] }) {
  return (
    <Card
      title="Variables that do not lead to a lane"
      actions={<span class="note-tag is-warn">calls may bypass the lane</span>}
    >
      <p class="intro">
        The injector did not change these variables. A change takes effect when the pod is created again.
      </p>
      <DataTable
        caption="Variables that do not lead to a lane"
        rows={list}
        rowKey={({ lane, variable }) => `${lane} ${variable}`}
        columns={[
          { title: 'Variable', width: '26%', render: ({ variable }) => <code>{variable}</code> },
          { title: 'Lane', width: '14%', render: ({ lane }) => <code>{lane}</code> },
          {
            title: 'Reason',
            width: '30%',
            render: ({ reason }) => <p class="sentence">{NOT_REWRITTEN_REASONS[reason]}.</p>,
          },
          { title: 'Fix', width: '30%', render: ({ reason }) => FIXES[reason] },
        ]}
      />
    </Card>
  );
}
