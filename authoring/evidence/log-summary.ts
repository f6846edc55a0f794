import { columnsOf } from '../../core/record/columns.ts';
import { chainOfUid } from '../../core/record/record-event.ts';
import type { AuditEvent, EventKind } from '../../core/shapes/audit-event.ts';
import type { OutcomeCounts } from '../../core/shapes/outcomes.ts';
import { isBetween, type EvidenceRange } from './range.ts';

/** The events of one UTC day. */
export interface DayEvents {
  day: string;
  events: number;
  kinds: Partial<Record<EventKind, number>>;
  outcomes: OutcomeCounts;
  /** Reported by the log as lost. */
  lost: number;
}

/** An issue, as the log shows it. Times are ISO 8601. */
export interface SeenFinding {
  property: string;
  description: string;
  /** When it was first opened in the range. */
  firstSeen: string;
  /** When it was last opened or closed in the range. */
  lastSeen: string;
  isOpen: boolean;
}

/** A stop or its end. */
export interface SeenStop {
  at: string;
  state: 'stopped' | 'resumed';
  reason: string;
  by: string | null;
}

export interface SeenLoss {
  at: string;
  chain: string;
  lost: number;
  reason: string;
}

/** What the audit log has about one agent in a range. */
export interface LogSummary {
  days: DayEvents[];
  findings: SeenFinding[];
  stops: SeenStop[];
  losses: SeenLoss[];
  /** Reasons of denials with their number, the most frequent first. */
  denials: { reason: string; count: number }[];
  /** Number of different persons; their names are personal data and not part of a bundle. */
  persons: number;
  /** Events of requests and calls without a known person. */
  withoutPerson: number;
  guardrails: string[];
}

const SUSPEND = 12;
const RESUME = 13;

/** Adds up events of one agent in a range. An event that two sources have counts once. */
export class LogCounter {
  readonly #range: EvidenceRange;
  readonly #agent: string;
  readonly #namespace: string | null;
  readonly #uids = new Set<string>();
  readonly #days = new Map<string, DayEvents>();
  readonly #findings = new Map<string, SeenFinding>();
  readonly #denials = new Map<string, number>();
  readonly #persons = new Set<string>();
  readonly #guardrails = new Set<string>();
  readonly #stops: SeenStop[] = [];
  readonly #losses: SeenLoss[] = [];
  #withoutPerson = 0;

  /** `namespace`: null accepts the agent in every namespace. */
  constructor(range: EvidenceRange, agent: string, namespace: string | null) {
    this.#range = range;
    this.#agent = agent;
    this.#namespace = namespace;
  }

  /** Whether the event is one of the agent and of the range. */
  add(event: AuditEvent): boolean {
    const { uid, at, agent, namespace, kind, outcome, user } = columnsOf(event);
    const isOfAgent = agent === this.#agent && [null, namespace].includes(this.#namespace);
    if (!isOfAgent || !isBetween(this.#range, at)) return false;
    if (this.#uids.has(uid)) return true;
    this.#uids.add(uid);
    const time = new Date(at).toISOString();
    const day = this.#dayOf(time);
    day.events += 1;
    day.kinds[kind] = (day.kinds[kind] ?? 0) + 1;
    if (outcome !== null) {
      day.outcomes[outcome] += 1;
      if (user === null) this.#withoutPerson += 1;
      else this.#persons.add(user);
    }
    const reason = event.status_detail ?? 'no reason';
    if (outcome === 'deny') this.#denials.set(reason, (this.#denials.get(reason) ?? 0) + 1);
    if (kind === 'gap') {
      day.lost += event.count ?? 0;
      this.#losses.push({ at: time, chain: chainOfUid(uid), lost: event.count ?? 0, reason });
    }
    if (kind === 'finding') this.#addFinding(event, time);
    if (kind === 'admin' && [SUSPEND, RESUME].includes(event.activity_id))
      this.#stops.push({
        at: time,
        state: event.activity_id === SUSPEND ? 'stopped' : 'resumed',
        reason: event.comment ?? '',
        by: user,
      });
    for (const type of event.unmapped.platform.facts?.guardrails ?? []) this.#guardrails.add(type);
    return true;
  }

  summary(): LogSummary {
    return {
      days: [...this.#days.values()].sort((a, b) => (a.day < b.day ? -1 : 1)),
      findings: [...this.#findings.values()],
      stops: this.#stops.toSorted((a, b) => (a.at < b.at ? -1 : 1)),
      losses: this.#losses.toSorted((a, b) => (a.at < b.at ? -1 : 1)),
      denials: [...this.#denials]
        .map(([reason, count]) => ({ reason, count }))
        .sort((a, b) => b.count - a.count),
      persons: this.#persons.size,
      withoutPerson: this.#withoutPerson,
      guardrails: [...this.#guardrails].sort(),
    };
  }

  #dayOf(time: string): DayEvents {
    const day = time.slice(0, 10);
    const known = this.#days.get(day) ?? {
      ...{ day, events: 0, kinds: {}, lost: 0 },
      outcomes: { allow: 0, deny: 0, failOpen: 0, notEvaluated: 0 },
    };
    this.#days.set(day, known);
    return known;
  }

  #addFinding({ activity_id: activity, finding_info: info }: AuditEvent, time: string): void {
    if (info === undefined) return;
    const property = info.uid.split('/').slice(2).join('/');
    const before = this.#findings.get(property);
    const isLatest = before === undefined || time >= before.lastSeen;
    this.#findings.set(property, {
      ...{ property, description: info.title },
      firstSeen: before === undefined || time < before.firstSeen ? time : before.firstSeen,
      lastSeen: isLatest ? time : before.lastSeen,
      // 3: closed (OCSF).
      isOpen: isLatest ? activity !== 3 : before.isOpen,
    });
  }
}
