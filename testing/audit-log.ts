import { AuditLog, type AuditLogOptions } from '../sidecar/audit/audit-log.ts';
import type { Clock } from '../runtime/clock.ts';

/** An audit log by itself: without a memory limit, a chat path or query strings where `options` has none. */
export function auditLogOf(clock: Clock, options: Partial<AuditLogOptions> = {}): AuditLog {
  return new AuditLog({
    capacity: 10,
    clock,
    withQuery: false,
    declared: () => ({ chatPath: undefined, isMcp: false }),
    keepForUsage: () => true,
    maxEventBytes: 1e6,
    ...options,
  });
}
