import type { OutcomeCounts } from '../../core/shapes/outcomes.ts';
import { OUTCOMES } from '../../core/shapes/values.ts';
import { formatNumber, formatPercent, NO_VALUE } from '../format.ts';
import { Card } from '../parts/card.tsx';
import { CodeBlock } from '../parts/code-block.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { Facts } from '../parts/facts.tsx';
import { auditCommand } from './audit-command.ts';
import { RuleLink, SeverityTag } from './links.tsx';
import { Prose } from './prose.tsx';
import { OUTCOME_TEXTS } from './outcome-texts.ts';
import type { TabProps } from './types.ts';

const MODE_NOTES: Readonly<Record<string, string>> = {
  track: 'denials are recorded, and the response passes',
  enforce: 'the response of a denied request is refused',
  off: 'nothing is evaluated',
};

/** What the policy did with the requests, and what it denies now. */
export function PolicyTab({ detail }: TabProps) {
  const { status } = detail;
  const { outcomes, policyMode, issues = [], instances = [], violations = 0 } = status;
  const denials = issues.filter(
    ({ property, source }) => source === 'policy' || property.startsWith('policy.'),
  );
  const states = [...new Set(instances.flatMap(({ policyState }) => policyState ?? []))];
  return (
    <>
      <Card title="Outcomes of requests">
        <Facts
          items={[
            ['Policy mode', policyMode ?? NO_VALUE, MODE_NOTES[policyMode ?? '']],
            ['Policy engine', states.length === 0 ? NO_VALUE : states.join(', ')],
            ['Violations', formatNumber(violations), 'policy rules that deny now'],
          ]}
        />
        <OutcomeTable outcomes={outcomes} />
      </Card>
      <Card title="Policy issues">
        <DataTable
          caption="Policy issues"
          rows={denials}
          rowKey={({ property }) => property}
          empty="The policy denies nothing that was observed."
          columns={[
            { title: 'Severity', render: ({ severity }) => <SeverityTag severity={severity} /> },
            { title: 'Rule', render: ({ property }) => <RuleLink id={property} /> },
            { title: 'Issue', render: ({ description }) => description },
            { title: 'Fix', render: ({ recommendation }) => <Prose text={recommendation} /> },
          ]}
        />
      </Card>
      <Card title="Refused requests">
        <p>
          The control plane has the numbers above. The sidecar of each instance has the requests, with the
          reason of each denial, in its audit ring (the last 1,000 requests by default).
        </p>
        <CodeBlock text={auditCommand(detail)} label="Command to read refused requests" />
      </Card>
    </>
  );
}

function OutcomeTable({ outcomes }: { outcomes: OutcomeCounts | undefined }) {
  if (outcomes === undefined) return <p>No proxy reports requests of this agent.</p>;
  const total = OUTCOMES.reduce((sum, each) => sum + outcomes[each], 0);
  return (
    <DataTable
      caption="Outcomes since the start of the instances"
      rows={OUTCOMES}
      rowKey={(each) => each}
      columns={[
        {
          title: 'Outcome',
          render: (each) => <span class={`note-tag outcome-${each}`}>{OUTCOME_TEXTS[each].title}</span>,
        },
        { title: 'Requests', numeric: true, render: (each) => formatNumber(outcomes[each]) },
        {
          title: 'Share',
          numeric: true,
          render: (each) => formatPercent(total === 0 ? null : outcomes[each] / total),
        },
        { title: 'Meaning', render: (each) => OUTCOME_TEXTS[each].note },
      ]}
    />
  );
}
