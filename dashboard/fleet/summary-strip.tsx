import { formatNumber, formatPercent, formatUsd } from '../format.ts';
import { fleet } from './fleet-store.ts';
import { summary } from './view.ts';

/** Totals of the agents that the filters show. */
export function SummaryStrip() {
  const { agents, compliant, failing, tokens, costUsd } = summary.value;
  const all = fleet.agents.value.length;
  const today = 'since 00:00 UTC';
  const figures = [
    ['Agents', formatNumber(agents), agents === all ? '' : `of ${formatNumber(all)}`],
    ['Compliant', formatNumber(compliant), agents === 0 ? '' : formatPercent(compliant / agents)],
    ['Failing', formatNumber(failing), failing === 0 ? 'none' : 'not compliant, unhealthy or silent'],
    ['Tokens today', formatNumber(tokens), today],
    ['Cost today', formatUsd(costUsd), costUsd === null ? 'no prices in the manifests' : today],
  ] as const;
  return (
    <section aria-label="Summary">
      <dl class="summary wrap">
        {figures.map(([label, value, note]) => (
          <div key={label} class={label === 'Failing' && failing > 0 ? 'figure figure-bad' : 'figure'}>
            <dt>{label}</dt>
            <dd>
              <span class="figure-value">{value}</span> <span class="muted">{note}</span>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
