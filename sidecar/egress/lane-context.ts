import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import type { LaneRoutes } from '../../core/egress/lane-routes.ts';
import type { Lane } from '../../core/egress/lanes.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { HeaderList } from '../proxy/headers.ts';
import type { LoadLimits } from '../proxy/load-limits.ts';
import type { OutageLog } from '../proxy/outage-log.ts';
import type { TlsTrust, Upstream } from '../proxy/upstream.ts';
import type { StopSwitch } from '../stop/stop-switch.ts';
import type { CallContext } from './create-call.ts';
import type { EgressLog } from './egress-log.ts';

/** A lane with its connections. */
export interface OpenLane {
  lane: Lane;
  upstream: Upstream;
  outages: OutageLog;
  /** The upstream sends the client to an address that is not at the upstream. */
  leaves(address: string): void;
}

export interface LaneContext {
  lanes: ReadonlyMap<string, OpenLane>;
  routes: LaneRoutes;
  calls: CallContext;
  log: EgressLog;
  load: LoadLimits;
  stop: StopSwitch;
  clock: Clock;
  tls: TlsTrust;
  /** The request during which the agent makes a call with these headers; null: not known. */
  join(rawHeaders: HeaderList): AuditEntry | null;
  /** true: the process is stopping, so connections end with their current request. */
  isDraining(): boolean;
}
