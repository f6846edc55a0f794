import { lineDigest } from './audit-event.ts';
import { sequence } from './common.ts';
import { text } from './field.ts';
import { list, object } from './object.ts';

const chainHead = object('The digest of a line of an audit log.', {
  chain: text('The chain: the part of `metadata.uid` before the colon.', { max: 1_000 }),
  sequence: sequence('`metadata.sequence` of the line.'),
  head: lineDigest('SHA-256 of the line.'),
});

/** Heads of audit logs, as the control plane returns them and as files have them. Other members are ignored. */
export const chainHeads = list('Heads of audit logs.', chainHead, { max: 1_000_000 });
