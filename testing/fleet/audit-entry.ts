import type { AuditEntry } from '../../core/shapes/audit-entry.ts';

/** A completed entry of a chat request without reported behavior. */
export function anEntry(overrides: Partial<AuditEntry> = {}): AuditEntry {
  return {
    seq: 1,
    requestId: 'r-1',
    timestamp: '2026-03-01T12:00:00.000Z',
    method: 'POST',
    path: '/v1/chat/completions',
    statusCode: 200,
    upstreamStatusCode: 200,
    durationMs: 12,
    bytesIn: 10,
    bytesOut: 20,
    outcome: 'notEvaluated',
    ...overrides,
  };
}
