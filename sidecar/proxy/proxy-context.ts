import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../runtime/clock.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { RequestTraces } from '../otlp/request-traces.ts';
import type { PolicyEvaluator } from '../policy/policy-evaluator.ts';
import type { StopSwitch } from '../stop/stop-switch.ts';
import type { LoadLimits } from './load-limits.ts';
import type { OutageLog } from './outage-log.ts';
import type { Upstream } from './upstream.ts';

export interface ProxyContext {
  upstream: Upstream;
  audit: AuditLog;
  policy: PolicyEvaluator;
  clock: Clock;
  outages: OutageLog;
  load: LoadLimits;
  stop: StopSwitch;
  manifest: () => Manifest;
  /** Traces of the requests; null: no spans are received, and requests get no `traceparent`. */
  traces: Pick<RequestTraces, 'join'> | null;
  /** Completes the entry of a new request with what its connection and its head show; null: nothing does. */
  onArrival: ((entry: AuditEntry, request: Pick<IncomingMessage, 'socket' | 'rawHeaders'>) => void) | null;
  /** true: the process or its pod is stopping, so connections end with their current request. */
  isDraining(): boolean;
  /** Called with the milliseconds that the sidecar added to a request until its response head, without the agent's time. */
  onOverhead(ms: number): void;
}
