import { detached } from '../untrusted/fields.ts';
import { isNullId } from './span.ts';

/** The ids of a `traceparent` header (W3C Trace Context). */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits: the span of the caller. */
  parentId: string;
}

/** The fields of version 00; a later version may append more fields after a dash. */
const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}(-.*)?$/;

/** Reads a `traceparent` header. null: it is not valid. The ids do not keep the header in memory, which can have 16 KiB. */
export function parseTraceparent(value: string): TraceContext | null {
  const [, version, traceId = '', parentId = '', more] = TRACEPARENT.exec(value) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null;
  if (isNullId(traceId) || isNullId(parentId)) return null;
  return { traceId: detached(traceId), parentId: detached(parentId) };
}

/** The header of a new trace that is sampled, so that an agent with the default sampler exports its spans. */
export const traceparentOf = ({ traceId, parentId }: TraceContext): string => `00-${traceId}-${parentId}-01`;
