import { AuditLog, type AuditLogOptions } from '../../sidecar/audit/audit-log.ts';
import type { Clock } from '../../runtime/clock.ts';

/** A standalone audit log. By default without memory limit, chat path and query strings. */
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
