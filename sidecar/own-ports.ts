import type { SidecarConfig } from './config.ts';

/** The ports on which this sidecar listens. */
export function ownPortsOf(config: SidecarConfig): number[] {
  const { PROXY_PORT, CONTROL_PLANE_PORT, OTLP_PORT, EGRESS_PORT, EGRESS_CONNECT_PORT } = config;
  return [
    ...[PROXY_PORT, CONTROL_PLANE_PORT],
    ...(OTLP_PORT === null ? [] : [OTLP_PORT]),
    ...(config.EGRESS_LANES === null ? [] : [EGRESS_PORT]),
    ...(config.EGRESS_CONNECT === 'off' ? [] : [EGRESS_CONNECT_PORT]),
  ];
}
