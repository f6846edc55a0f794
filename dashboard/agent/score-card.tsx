import type { ComponentChildren } from 'preact';
import type { Issue } from '../../core/shapes/gap.ts';
import type { StoredGap } from '../../core/shapes/stored.ts';
import { useResource } from '../api/resource.ts';
import { Ago } from '../parts/ago.tsx';
import { Card } from '../parts/card.tsx';
import { Empty } from '../parts/empty.tsx';
import { useChange } from '../parts/use-change.ts';
import { agentPath } from './agent-path.ts';
import { RuleLink, SeverityTag } from './links.tsx';
import { Loaded } from './loaded.tsx';
import { explainScore, MAX_TOGETHER, type NextGrade, type ScoreExplanation } from './lost-points.ts';
import { Prose } from './prose.tsx';
import type { AgentDetail } from '../../core/shapes/agent-detail.ts';
import { worstScored } from './worst-score.ts';

/** Why the agent has its grade and not the next one: each lost point with its remedy. */
export function ScoreCard({ detail }: { detail: AgentDetail }) {
  const { status } = detail;
  const instance = worstScored(status);
  const hasScore = status.score !== undefined;
  const path = agentPath(detail, '/gap', instance === null ? {} : { instance });
  const gap = useResource<StoredGap>(hasScore ? path : null);
  useChange(detail.lastSeen, gap.reload);
  if (!hasScore)
    return (
      <Card title="Score">
        <p class="muted">There is no score yet. It comes with the first heartbeat of the agent.</p>
      </Card>
    );
  const grade = gap.data?.grade ?? status.grade ?? '';
  const next = gap.data === null ? null : (explanationOf(gap.data)?.next ?? null);
  return (
    <Card title={next === null ? `Why grade ${grade}` : `Why ${grade} and not ${next.grade}`}>
      <Loaded resource={gap} what="points">
        {(report) => <Explained report={report} status={status} />}
      </Loaded>
    </Card>
  );
}

function explanationOf({ score, source, issues, issuesTotal }: StoredGap): ScoreExplanation | null {
  if (issues === null || source === null) return null;
  return explainScore({ score, source, issues, ...(issuesTotal !== undefined && { issuesTotal }) });
}

function Explained({ report, status }: { report: StoredGap; status: AgentDetail['status'] }) {
  const explanation = explanationOf(report);
  if (explanation === null)
    return (
      <Empty title={`The score is ${report.score}, from instance ${report.instance}`}>
        <p>
          This control plane keeps the issues of one instance only, {status.reportedBy}. A SQL store
          (STORE=sqlite or STORE=postgres) keeps those of every instance.
        </p>
      </Empty>
    );
  const { lost, returned, unexplained, unexplainedReason, suggestions, next } = explanation;
  const sum = (all: readonly { points: number }[]): number =>
    all.reduce((total, each) => total + each.points, 0);
  return (
    <>
      <p class="score-sum wrap">
        <Term value={100} of="points" /> <Term sign="−" value={sum(lost)} of="lost" />
        {returned.length > 0 && <Term sign="+" value={sum(returned)} of="given back by limits" />}
        {unexplained > 0 && <Term sign="−" value={unexplained} of="not explained" />}
        {unexplained < 0 && <Term sign="+" value={-unexplained} of="not explained" />}
        <Term sign="=" value={report.score} of="score" />
      </p>
      {next !== null && <Next next={next} issues={lost.length} />}
      {lost.length === 0 && unexplained === 0 && <p>No points are lost.</p>}
      {lost.length > 0 && (
        <ol class="lost-list" aria-label="Lost points">
          {lost.map(({ issue, points }, index) => (
            <Lost key={`${index} ${issue.property}`} {...{ issue, points }}>
              {next?.alone.includes(issue) === true && (
                <span class="note-tag is-good">Reaches {next.grade} alone</span>
              )}
            </Lost>
          ))}
        </ol>
      )}
      {returned.map(({ points, reason }) => (
        <p key={reason} class="score-note">
          +{points}: {reason}
        </p>
      ))}
      {unexplainedReason !== null && <p class="score-note">Not explained: {unexplainedReason}</p>}
      <Suggestions issues={suggestions} />
      <p class="score-note">
        Report of instance <code>{report.instance}</code>, received <Ago time={report.receivedAt} />,{' '}
        {report.source === 'agent-sdk' ? "with the agent's own report." : 'without a report of the agent.'}
      </p>
    </>
  );
}

/** One term of the equation. */
function Term({ sign, value, of }: { sign?: string; value: number; of: string }) {
  return (
    <span class="score-term">
      {sign} <strong>{value}</strong> <small>{of}</small>{' '}
    </span>
  );
}

/** `issues`: number of issues with points. */
function Next({ next: { grade, missing, alone, together }, issues }: { next: NextGrade; issues: number }) {
  const points = missing === 1 ? '1 more point reaches' : `${missing} more points reach`;
  return (
    <p class="next-grade">
      <strong>
        {points} grade {grade}.
      </strong>{' '}
      {alone.length > 0 &&
        (alone.length === 1 ? 'One fix is enough: ' : 'Any one of these fixes is enough: ')}
      {alone.length > 0 && <Properties issues={alone} />}
      {together !== null && (
        <>
          No single fix is enough. Fix together: <Properties issues={together} />
        </>
      )}
      {alone.length === 0 &&
        together === null &&
        (issues > MAX_TOGETHER
          ? `More than ${MAX_TOGETHER} fixes are needed; start with the first ones of the list.`
          : 'The issues of the list do not explain all of them.')}
    </p>
  );
}

/** Longest list of names in a sentence. */
const MAX_NAMES = 5;

function Properties({ issues }: { issues: readonly Issue[] }) {
  return (
    <>
      {issues.slice(0, MAX_NAMES).map(({ property }, index) => (
        <span key={`${index} ${property}`}>
          {index > 0 && ', '}
          <code>{property}</code>
        </span>
      ))}
      {issues.length > MAX_NAMES && ` and ${issues.length - MAX_NAMES} more`}.
    </>
  );
}

interface LostProps {
  issue: Issue;
  /** null: an issue without points. */
  points: number | null;
  children?: ComponentChildren;
}

function Lost({ issue, points, children }: LostProps) {
  const { property, severity, description, recommendation } = issue;
  return (
    <li class="lost">
      {points !== null && <span class="lost-points">−{points}</span>}
      <div>
        <h3>
          <RuleLink id={property} /> <SeverityTag severity={severity} /> {children}
        </h3>
        <p>
          <Prose text={description} />
        </p>
        {recommendation !== '' && (
          <p class="lost-remedy">
            <strong>Fix:</strong> <Prose text={recommendation} />
          </p>
        )}
      </div>
    </li>
  );
}

function Suggestions({ issues }: { issues: readonly Issue[] }) {
  if (issues.length === 0) return null;
  return (
    <details>
      <summary>Suggestions of the LLM analysis, without points ({issues.length})</summary>
      <ul class="lost-list">
        {issues.map((issue, index) => (
          <Lost key={index} issue={issue} points={null} />
        ))}
      </ul>
    </details>
  );
}
