/** The ports of the sidecar. Injection and the guard use the same numbers. */
export const PROXY_PORT = 4000;
export const CONTROL_PORT = 4001;
/** The sidecar's OTLP receiver (loopback only), with the annotation `platform.io/otlp`. */
export const OTLP_PORT = 4318;
/** The sidecar's lanes for calls of the agent, and its CONNECT lane (loopback only), with the annotations `platform.io/egress-*`. */
export const EGRESS_PORT = 4002;
export const EGRESS_CONNECT_PORT = 4003;
