import type { AuditEvent } from '../../core/shapes/audit-event.ts';
import { OUTCOME_TEXTS } from '../agent/outcome-texts.ts';
import { countText, NO_VALUE } from '../format.ts';

/** An event as the control plane sends it, with the members of OCSF that a row shows. */
export interface SentEvent extends AuditEvent {
  api?: { operation?: string };
  ai_model?: { name?: string };
  entity?: { name?: string };
  unmapped: { platform: AuditEvent['unmapped']['platform'] & { action?: string; state?: string } };
}

/** What each activity is that only its number names, by class and activity. */
const ACTIVITIES: Readonly<Record<string, string>> = {
  '2003/1': 'opened',
  '2003/3': 'closed',
  '3004/12': 'stopped',
  '3004/13': 'resumed',
};

/** What happened, in one line. */
export function textOf(event: SentEvent): string {
  const { api, ai_model, finding_info, entity, comment, count, resources = [] } = event;
  const { action, state } = event.unmapped.platform;
  return [
    ...[api?.operation, ai_model?.name, ...resources.map(({ name }) => name)],
    ...[action ?? ACTIVITIES[`${event.class_uid}/${event.activity_id}`], finding_info?.title],
    ...[entity?.name, comment, state, count === undefined ? undefined : `${countText(count, 'event')} lost`],
  ]
    .filter((part) => part !== undefined && part !== '')
    .join(' · ');
}

/** OCSF: the request was only observed. */
const OBSERVED = 3;

/** The result of the policy; empty: the event has none. */
export function outcomeOf(event: SentEvent & { action_id?: number }): string {
  const { outcome } = event.unmapped.platform;
  if (outcome === undefined) return '';
  const isPassed = outcome === 'deny' && event.action_id === OBSERVED;
  return OUTCOME_TEXTS[outcome].title + (isPassed ? ', not blocked' : '');
}

/** All members with their paths, such as `actor.user.uid` and `resources[0].name`. A list of plain values is one member. */
export function membersOf(value: unknown, path = ''): [path: string, text: string][] {
  if (typeof value !== 'object' || value === null) return [[path, String(value)]];
  const isList = Array.isArray(value);
  if (isList && value.every((each) => typeof each !== 'object'))
    return [[path, value.length === 0 ? NO_VALUE : value.join(', ')]];
  return Object.entries(value).flatMap(([name, each]) =>
    membersOf(each, isList ? `${path}[${name}]` : path + (path === '' ? '' : '.') + name),
  );
}
