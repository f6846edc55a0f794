import type { ComponentChildren } from 'preact';
import type { AgentRow } from '../../core/shapes/agent-row.ts';
import type { StopState } from '../../core/shapes/agent-stop.ts';
import { formatNumber, formatPercent, formatUsd, NO_VALUE, withLocalTimes } from '../format.ts';
import { Ago } from '../parts/ago.tsx';
import { ConditionBadge } from '../parts/condition-badge.tsx';
import { PhaseBadge } from '../parts/phase-badge.tsx';
import { Sparkline } from '../parts/sparkline.tsx';
import { hrefOf } from '../route.ts';
import type { SortKey } from './sort.ts';

export interface GridColumn {
  key: SortKey;
  title: string;
  isNumeric: boolean;
  /** The first click on the heading sorts from the largest value. */
  isDescendingFirst: boolean;
  /** `isActive`: the row is the one that the tab key leads to. */
  render: (agent: AgentRow, isActive: boolean) => ComponentChildren;
}

const STOP_TEXTS: Readonly<Record<StopState, string>> = {
  Stopping: 'stopping',
  IngressOnly: 'requests rejected',
  Stopped: 'stopped',
};

/** The columns of the fleet. `styles/fleet.css` has their widths, and hides some in narrow windows. */
export const COLUMNS: readonly GridColumn[] = [
  text('name', 'Agent', ({ namespace, agentName }, isActive) => (
    <a
      href={hrefOf({ page: 'agent', namespace, name: agentName, tab: null })}
      // A narrow column may cut it.
      title={agentName}
      tabIndex={isActive ? 0 : -1}
    >
      {agentName}
    </a>
  )),
  text('compliant', 'Compliant', ({ compliant, stop }) => (
    <>
      {stop !== null && (
        <>
          <span class="note-tag is-warn">{STOP_TEXTS[stop]}</span>{' '}
        </>
      )}
      <ConditionBadge {...compliant} /> <span class="muted">{withLocalTimes(compliant.message)}</span>
    </>
  )),
  text('grade', 'Grade', ({ grade, stale }) => (
    // The heading of the column names it, so the badge has only the letter.
    <span class={`grade grade-${stale ? 'old' : grade}`}>
      {grade ?? NO_VALUE}
      {stale && <span class="visually-hidden"> (old)</span>}
    </span>
  )),
  text('namespace', 'Namespace', ({ namespace }) => namespace),
  number('score', 'Score', (agent) => <Score {...agent} />, false),
  text('phase', 'Phase', ({ phase }) => <PhaseBadge phase={phase} />),
  number('tokens', 'Tokens today', ({ tokens }) => formatNumber(tokens)),
  number('cost', 'Cost today', ({ costUsd }) => formatUsd(costUsd)),
  number('violations', 'Violations', ({ violations }) => formatNumber(violations)),
  number('failOpen', 'Fail-open', ({ failOpen }) => formatPercent(failOpen)),
  number('evidence', 'Evidence', ({ evidence: of }) => formatPercent(of ? of.percent / 100 : null), false),
  text('lastSeen', 'Last heartbeat', ({ lastSeen }) => <Ago time={lastSeen} />, true),
];

type Render = GridColumn['render'];

function text(key: SortKey, title: string, render: Render, isDescendingFirst = false): GridColumn {
  return { key, title, isNumeric: false, isDescendingFirst, render };
}

function number(key: SortKey, title: string, render: Render, isDescendingFirst = true): GridColumn {
  return { key, title, isNumeric: true, isDescendingFirst, render };
}

function Score({ score, trend }: AgentRow): ComponentChildren {
  return (
    <>
      {trend !== undefined && (
        <Sparkline
          values={trend}
          label={`Score in 24 hours: from ${formatNumber(trend.at(0))} to ${formatNumber(trend.at(-1))}`}
        />
      )}
      {formatNumber(score)}
    </>
  );
}
