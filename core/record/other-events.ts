import type { EventKind } from '../shapes/audit-event.ts';
import type { Cut } from './api-activity.ts';
import { SEVERITY_IDS } from './outcome-codes.ts';
import {
  chainOf,
  LOG_NAME,
  type Lifecycle,
  type Place,
  type RecordEvent,
  type RecordSource,
} from './record-event.ts';

interface Context {
  source: RecordSource;
  place: Place;
  cut: Cut;
}

/** The kind of an event, and its class, category and activity in OCSF. */
interface OcsfClass {
  kind: EventKind;
  class: number;
  category: number;
  activity: number;
  /** Required for activity 99. */
  activityName?: string;
  /** The profile of OCSF that has `actor` in this class; absent: the class has it. */
  profile?: 'host';
}

type Other = Exclude<RecordEvent, { kind: 'request' | 'call' }>;

const FINDING = { kind: 'finding', class: 2003, category: 2, profile: 'host' } as const;
const ENTITY = { kind: 'admin', class: 3004, category: 3 } as const;
const APPLICATION = { kind: 'lifecycle', class: 6002, category: 6, profile: 'host' } as const;
const LOG = { kind: 'gap', class: 1008, category: 1, profile: 'host' } as const;

/** The activity of each event other than a request and a call. */
export const OTHER_CLASSES = {
  findingOpened: { ...FINDING, activity: 1 },
  findingClosed: { ...FINDING, activity: 3 },
  adminCreate: { ...ENTITY, activity: 1 },
  adminRead: { ...ENTITY, activity: 2 },
  adminUpdate: { ...ENTITY, activity: 3 },
  adminDelete: { ...ENTITY, activity: 4 },
  suspended: { ...ENTITY, activity: 12 },
  resumed: { ...ENTITY, activity: 13 },
  started: { ...APPLICATION, activity: 3 },
  stopped: { ...APPLICATION, activity: 4 },
  changed: { ...APPLICATION, activity: 8 },
  lost: { ...LOG, activity: 99, activityName: 'Lost' },
} as const satisfies Record<string, OcsfClass>;

const LIFECYCLE_CLASSES: Readonly<Record<Lifecycle, OcsfClass>> = {
  started: OTHER_CLASSES.started,
  resumed: OTHER_CLASSES.started,
  stopped: OTHER_CLASSES.stopped,
  'manifest-changed': OTHER_CLASSES.changed,
};

/** An event of a finding, an admin action, a stop, the process, or lost events, as an object of OCSF. */
export function otherEvent(event: Other, context: Context): object {
  const text = (value: string): string => value.slice(0, context.cut.text);
  const { agent, namespace, version } = context.source;
  const name = `${namespace}/${agent}`;
  switch (event.kind) {
    case 'finding': {
      const { issue, state, at } = event;
      const isOpen = state === 'opened';
      return {
        ...base(context, isOpen ? OTHER_CLASSES.findingOpened : OTHER_CLASSES.findingClosed, at),
        severity_id: SEVERITY_IDS[issue.severity],
        // 1: passes. 3: fails.
        compliance: { control: text(issue.property), standards: ['agent.yaml'], status_id: isOpen ? 3 : 1 },
        finding_info: { title: text(issue.description), uid: text(`${name}/${issue.property}`) },
        // 1: new. 4: resolved.
        status_id: isOpen ? 1 : 4,
        ...(issue.recommendation !== '' && { remediation: { desc: text(issue.recommendation) } }),
      };
    }
    case 'admin':
      return adminEvent(event, context);
    case 'stop': {
      const { state, reason, by, at } = event;
      return {
        ...base(context, OTHER_CLASSES[state], at),
        ...actorOf(context.source, by === null ? null : text(by)),
        comment: text(reason),
        entity: { name: agent, type: 'agent', uid: name },
      };
    }
    case 'lifecycle':
      return {
        ...base(context, LIFECYCLE_CLASSES[event.state], event.at, { state: event.state }),
        app: { name: 'agent-compliance', vendor_name: 'Agent Compliance', version },
      };
    case 'gap':
      return {
        ...base(context, OTHER_CLASSES.lost, event.at),
        severity_id: 4,
        count: event.lost,
        log_name: LOG_NAME,
        status_detail: text(event.reason),
      };
  }
}

/** Routes that stop, create, read or delete; every other route changes something that exists. */
const ADMIN_VERBS: readonly [RegExp, keyof typeof OTHER_CLASSES][] = [
  [/^createStop$/, 'suspended'],
  [/^deleteStop$/, 'resumed'],
  [/^(create|register|submit|put|issue)/i, 'adminCreate'],
  [/^(delete|remove)/i, 'adminDelete'],
  [/^(get|list|read|query)/i, 'adminRead'],
];

const IP = /^(?:\d{1,3}(?:\.\d{1,3}){3}|(?=[^:]*:[^:]*:)[0-9a-f:]+(?:[.\d]+)?(?:%\w+)?)$/i;

function adminEvent({ comment, query, at, ...event }: Other & { kind: 'admin' }, context: Context): object {
  const text = (value: string): string => value.slice(0, context.cut.text);
  const texts = (values: object) =>
    Object.fromEntries(Object.entries<string>({ ...values }).map(([name, value]) => [name, text(value)]));
  const { actor, ...action } = event.action;
  const [, key] = ADMIN_VERBS.find(([verb]) => verb.test(action.action)) ?? [null, 'adminUpdate' as const];
  const { ruleId, status } = action;
  const by = actor === null ? null : text(actor.sub ?? actor.name ?? actor.method);
  const uid = [action.namespace, action.agentName, ruleId].filter((part) => part !== null).join('/');
  const address = text(action.address);
  return {
    ...base(context, OTHER_CLASSES[key], at, {
      action: text(action.action),
      ...(actor !== null && { actor: texts(actor) }),
    }),
    ...actorOf(context.source, by),
    ...(comment !== undefined && { comment: text(comment) }),
    entity: {
      name: text(uid === '' ? action.action : uid),
      ...(query === undefined
        ? { type: ruleId === null ? 'agent' : 'proof' }
        : { type: 'query', data: texts(query) }),
    },
    // An address that is not known is not an IP address.
    src_endpoint: IP.test(address) ? { ip: address } : { name: address },
    status_code: String(status),
    status_id: status < 400 ? 1 : 2,
  };
}

const actorOf = ({ agent, namespace }: RecordSource, by: string | null) => ({
  actor: { app_name: agent, app_uid: `${namespace}/${agent}`, ...(by !== null && { user: { uid: by } }) },
});

function base(
  { source, place, cut }: Context,
  { kind, class: classUid, category, activity, activityName, profile }: OcsfClass,
  time: number,
  more: object = {},
) {
  const { sequence, prev, manifestDigest } = place;
  const size = cut.untruncatedSize;
  return {
    activity_id: activity,
    activity_name: activityName,
    ...actorOf(source, null),
    category_uid: category,
    class_uid: classUid,
    metadata: {
      log_name: LOG_NAME,
      product: { name: 'agent-compliance', vendor_name: 'Agent Compliance', version: source.version },
      sequence,
      uid: `${chainOf(source)}:${sequence}`,
      version: '1.8.0',
      ...(profile !== undefined && { profiles: [profile] }),
      ...(size !== null && { is_truncated: true, untruncated_size: size }),
    },
    severity_id: 1,
    time,
    type_uid: classUid * 100 + activity,
    unmapped: { platform: { identitySource: 'none', kind, manifestDigest, prev, ...more } },
  };
}
