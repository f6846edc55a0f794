import { SEVERITIES } from '../../core/shapes/values.ts';
import type { EvidenceBundle, Finding } from './bundle.ts';
import { digest, first, html, more, table, time, type Html } from './html.ts';

/** A section with a list of at most `MOST_ROWS` rows. */
const listed = <T>(
  head: readonly string[],
  all: readonly T[],
  { row, none }: { row: (each: T) => Parameters<typeof table>[1][number]; none: string },
): Html => html`${table(head, first(all).map(row), none)}${more(all)}`;

/** A hash is cut; evidence.json has all of it. */
const short = (text: string | null): string => (text ?? '–').replace(/^([0-9a-f]{12})[0-9a-f]{52}$/, '$1…');

export const verdict = ({ verdict: { days, changes } }: EvidenceBundle): Html =>
  html`<h2>Verdict over time</h2>
    ${listed(['Day', 'Phase', 'Grade', 'Score at the end', 'Lowest score'], days, {
      row: ({ at, phase, grade, score, scoreMin }) => [at.slice(0, 10), phase, grade, score, scoreMin],
      none: 'No history is included.',
    })}
    ${listed(['Time', 'Change of', 'From', 'To', 'Summary'], changes, {
      row: ({ at, kind, from, to, summary }) => [time(at), kind, short(from), short(to), summary ?? ''],
      none: 'No change is known.',
    })}`;

/** Open findings first, the most severe first. */
const rankOf = ({ severity, isOpen }: Finding): number =>
  (isOpen ? 0 : 10) + (severity === null ? 9 : SEVERITIES.indexOf(severity));

export const findings = ({ findings: all, organisation }: EvidenceBundle): Html =>
  html`<h2>Findings</h2>
    ${listed(
      ['State', 'Severity', 'Finding', 'First time', 'Last time'],
      all.toSorted((a, b) => rankOf(a) - rankOf(b)),
      {
        row: ({ isOpen, severity, property, description, firstSeen, lastSeen }) => [
          ...[isOpen ? html`<b>open</b>` : 'closed', severity ?? 'not known'],
          html`<code>${property}</code><br />${description}`,
          ...[time(firstSeen), time(lastSeen)],
        ],
        none: 'No finding is known.',
      },
    )}
    <h3>Broken rules of the organisation</h3>
    ${listed(['Rule', 'Severity', 'Action', 'Finding', 'Since'], organisation?.broken ?? [], {
      row: ({ policy, rule, severity, action, message, since }) => [
        ...[`${policy}/${rule}`, severity, action, message, time(since ?? null)],
      ],
      none: organisation === null ? 'No rule was applied, or the rules are not known.' : 'No rule is broken.',
    })}`;

export const proofs = ({ proofs: all }: EvidenceBundle): Html =>
  html`<h2>Proofs</h2>
    ${listed(['Rule', 'Counts', 'Tested by and how', 'Submitted', 'Expires', 'Origin and actor'], all, {
      row: ({ ruleId, state, verifiedBy, method, verifiedAt, expiresAt, origin, actor }) => [
        ...[ruleId, state === 'counts' ? 'yes' : 'no', html`${verifiedBy}<br />${method}`],
        ...[time(verifiedAt), expiresAt === undefined ? 'never' : time(expiresAt)],
        `${origin ?? 'not known'}${actor === undefined ? '' : `, ${actor.name ?? actor.sub ?? ''} (${actor.method})`}`,
      ],
      none: 'No proof is included.',
    })}`;

export function outcomes({ outcomes: { inRange, sinceStart } }: EvidenceBundle): Html {
  const row = (title: string, counts: typeof inRange) =>
    counts === null ? [] : [[title, counts.allow, counts.deny, counts.failOpen, counts.notEvaluated]];
  return html`<h2>Requests and calls by result of the policy</h2>
    ${table(
      ['', 'Allowed', 'Denied', 'Passed without policy engine', 'Not evaluated'],
      [...row('In the range', inRange), ...row('Since the start of each sidecar', sinceStart)],
      'No number is known.',
    )}`;
}

export const stops = ({ stops: all }: EvidenceBundle): Html =>
  html`<h2>Stops</h2>
    ${listed(['Time', 'Event', 'Reason', 'By'], all, {
      row: ({ at, state, reason, by }) => [time(at), state, reason, by ?? 'not known'],
      none: 'No stop is known.',
    })}`;

export const exceptions = ({ exceptions: { suppressions, organisation } }: EvidenceBundle): Html =>
  html`<h2>Exceptions</h2>
    ${listed(['Rule', 'State', 'Reason', 'Approved by', 'Expires'], suppressions, {
      row: ({ rule, state, reason, approvedBy, expires }) => [
        ...[rule, state, reason, approvedBy ?? 'not stated', expires ?? 'never'],
      ],
      none: 'No suppression of a rule is known.',
    })}
    ${organisation.length === 0 ? null : html`<p>Excepted from rules of the organisation: ${organisation.join(', ')}.</p>`}`;

export function auditLog({ auditLog: log }: EvidenceBundle): Html {
  const { days, denials, chain, persons, withoutPerson } = log;
  const found = chain?.findings.length ?? 0;
  const verified = found === 0 ? 'no difference was found' : `${found} problems were found`;
  return html`<h2>Audit log</h2>
    <p>
      ${persons} different persons; ${withoutPerson} requests and calls without a known person.
      ${chain === null ? 'No log file was verified.' : `${chain.lines} lines were verified: ${verified}.`}
    </p>
    ${listed(
      ['Day', 'Events', 'Allowed', 'Denied', 'Passed without policy engine', 'Not evaluated', 'Lost'],
      days,
      {
        row: ({ day, events, outcomes: { allow, deny, failOpen, notEvaluated }, lost }) => [
          ...[day, events, allow, deny, failOpen, notEvaluated, lost],
        ],
        none: 'No event is included.',
      },
    )}
    ${listed(['First reason of denials', 'Number'], denials, {
      row: ({ reason, count }) => [reason, count],
      none: 'No denial is known.',
    })}
    ${[gaps(log), chainHeads(log)]}`;
}

type AuditLog = EvidenceBundle['auditLog'];

function gaps({ losses, chain }: AuditLog): Html {
  const all = [
    ...losses.map(({ at, chain: id, lost, reason }) => [time(at), `${id} lost ${lost} events: ${reason}`]),
    ...(chain?.findings ?? []).map(({ line, message }) => [`line ${line}`, message]),
    ...(chain?.absent ?? []).map((id) => [id, 'a head is known, and no file has a line of the chain']),
  ];
  return html`<h3>Gaps</h3>
    ${listed(['Where', 'What is missing'], all, { row: (each) => each, none: 'No gap is known.' })}`;
}

const ORIGINS = {
  'control-plane': 'The control plane had received these heads before this bundle was made.',
  files:
    'These heads are the ends of the log files when this bundle was made. They cannot show an earlier change.',
  null: 'No head is known, so a shortened or rewritten log cannot be distinguished from the original.',
} as const;

const chainHeads = ({ heads, headsFrom, files }: AuditLog): Html =>
  html`<h3>Chain heads</h3>
    <p>${ORIGINS[headsFrom ?? 'null']}</p>
    ${listed(['Chain', 'Sequence', 'SHA-256 of the line'], heads, {
      row: ({ chain, sequence, head }) => [chain, sequence, digest(head)],
      none: 'No head is known.',
    })}
    ${listed(['Log file', 'Lines', 'SHA-256'], files, {
      row: ({ name, lines, sha256 }) => [name, lines, digest(sha256)],
      none: 'No log file was read.',
    })}`;

export const instances = ({ instances: all }: EvidenceBundle): Html =>
  html`<h2>Versions</h2>
    ${listed(['Instance', 'Sidecar', 'Started', 'Manifest'], all, {
      row: ({ name, sidecarVersion, startedAt, manifestHash }) => [
        ...[name, sidecarVersion ?? 'not known', time(startedAt), digest(manifestHash)],
      ],
      none: 'No instance is known.',
    })}`;
