import { formatNumber, formatPercent, formatUsd } from '../format.ts';
import { fleet } from './fleet-store.ts';
import { summary } from './view.ts';

/** Totals of the agents that the filters show. */
export function SummaryStrip() {
  const { agents, compliant, failing, tokens, costUsd } = summary.value;
  const all = fleet.agents.value.length;
  return (
    <section aria-label="Summary">
      <dl class="summary">
        <Figure
          label="Agents"
          value={formatNumber(agents)}
          note={agents === all ? '' : `of ${formatNumber(all)}`}
        />
        <Figure
          label="Compliant"
          value={formatNumber(compliant)}
          note={agents === 0 ? '' : formatPercent(compliant / agents)}
        />
        <Figure
          label="Failing"
          value={formatNumber(failing)}
          note={failing === 0 ? 'none' : 'not compliant, unhealthy or silent'}
          isBad={failing > 0}
        />
        <Figure label="Tokens today" value={formatNumber(tokens)} note="since 00:00 UTC" />
        <Figure
          label="Cost today"
          value={formatUsd(costUsd)}
          note={costUsd === null ? 'no prices in the manifests' : 'since 00:00 UTC'}
        />
      </dl>
    </section>
  );
}

function Figure(props: { label: string; value: string; note: string; isBad?: boolean }) {
  return (
    <div class={props.isBad === true ? 'figure figure-bad' : 'figure'}>
      <dt>{props.label}</dt>
      <dd>
        <span class="figure-value">{props.value}</span> <span class="muted">{props.note}</span>
      </dd>
    </div>
  );
}
