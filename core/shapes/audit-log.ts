import { sequence } from './common.ts';
import { isoTime, matching, named, text } from './field.ts';
import { object, type TypeOf } from './object.ts';

/** Characters of the id of a chain: an instance, a slash and a start. */
const MAX_CHAIN = 320;

const members = {
  chain: text('Id of the chain: `<instance>/<start>`, the part of `metadata.uid` before the colon.', {
    max: MAX_CHAIN,
  }),
  sequence: sequence('`metadata.sequence` of the last line of the chain.'),
  head: matching('SHA-256 of the last line of the chain.', {
    pattern: /^[0-9a-f]{64}$/,
    wanted: '64 hexadecimal digits',
  }),
  at: isoTime('Time of the last line.'),
  written: sequence('Lines written since the start of the process.'),
  dropped: sequence('Events lost since the start of the process.'),
  failures: sequence('Failed writes since the start of the process.'),
};

/** The state of the audit log of one instance, in its heartbeats. */
export const auditLog = object('The end of the audit log of this instance.', members);
export type AuditLog = TypeOf<typeof auditLog>;

export const auditHead = named(
  'AuditHead',
  object('The end of an audit log as of one heartbeat: the last one of its UTC hour.', {
    ...members,
    receivedAt: isoTime('When the control plane received the heartbeat.'),
  }),
);
export type AuditHead = TypeOf<typeof auditHead>;
