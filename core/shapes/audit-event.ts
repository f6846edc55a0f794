import { IDENTITY_SOURCES } from './identity.ts';
import { INVALID } from '../untrusted/fields.ts';
import { fieldOf, integer, matching, named, oneOf, text } from './field.ts';
import { list, object, type TypeOf } from './object.ts';
import { EVENT_KINDS, OUTCOMES } from './values.ts';

export type { EventKind } from './values.ts';

/** A SHA-256 in hex. */
export const lineDigest = (about: string) =>
  matching(about, { pattern: /^[0-9a-f]{64}$/, wanted: '64 hexadecimal digits' });
// Empty and long names are as untrusted clients send them. The size of a line limits all of them.
const name = (about: string) => text(about);
const id = (about: string) => integer(about, { min: 0 });

/** The members of an audit event that the product reads. OCSF defines all but those of `unmapped.platform`. */
export const auditEvent = object('One line of the audit log: an event of OCSF 1.8.0.', {
  class_uid: id('Class of the event.'),
  activity_id: id('Activity of the class.'),
  severity_id: id('1 informational, 3 medium, 4 high, 5 critical.'),
  time: integer('Time of the event, in epoch milliseconds.', { min: 0, limit: 8_640_000_000_000_000 }),
  actor: object('The agent, the person and the session.', {
    app_uid: name('Namespace and name of the agent, with a slash.'),
    'user?': object('The person.', { uid: name('Who made the request.') }),
    'session?': object('The session.', { uid: name('Hash of the session.') }),
  }),
  metadata: object('Position of the event in the log.', {
    uid: name('`<instance>/<start>:<sequence>`; the part before the colon is the chain.'),
    sequence: id('Increases by one with each event of a chain.'),
    'correlation_uid?': name('Id of the request.'),
  }),
  'comment?': text('The reason of a stop.', { cut: 2_048 }),
  'count?': id('Number of lost events.'),
  'finding_info?': object('The issue of a finding.', {
    title: text('Its description.', { cut: 2_048 }),
    uid: name('Namespace, agent and property, with slashes.'),
  }),
  'status_detail?': name('The first reason of a denial.'),
  'resources?': list(
    'The tools of a call.',
    object('A tool.', { name: name('Name of the tool.'), 'type?': name('`tool`.') }),
    { max: 1_000, cut: true },
  ),
  unmapped: object('Members of the product.', {
    platform: object('Members of the product.', {
      kind: oneOf('What the event is about.', EVENT_KINDS),
      'facts?': object('What the sidecar saw.', {
        'guardrails?': list('The guardrails that ran.', name('Type of a guardrail.'), {
          max: 1_000,
          cut: true,
        }),
      }),
      'outcome?': oneOf('Result of the policy.', OUTCOMES),
      'identitySource?': oneOf('Where the person comes from.', IDENTITY_SOURCES),
      'manifestDigest?': name('Digest of the manifest in force.'),
      prev: lineDigest('SHA-256 of the previous line, in hex; 64 zeros: the first of its chain.'),
    }),
  }),
});

/** An audit event as the product reads it from a line. */
export interface AuditEvent extends TypeOf<typeof auditEvent> {}

/** An event with all members of its line, as the control plane returns it. Its parser returns the value that it gets. */
export const sentEvent = named(
  'AuditEvent',
  fieldOf<AuditEvent>(
    (value, path, errors) => (auditEvent(value, path, errors) === INVALID ? INVALID : (value as AuditEvent)),
    () => auditEvent.schema,
  ),
);
