import { DNS_LABEL, DNS_SUBDOMAIN } from '../shapes/common.ts';

/** Names of the objects that injection adds. The chart's guard policy and the operator use the same names. */
export const SIDECAR_CONTAINER = 'platform-sidecar';
/** Renders the rules before the policy engine starts. */
export const POLICY_RULES_CONTAINER = 'platform-policy';
export const ENGINE_CONTAINER = 'platform-opa';
export const OWN_CONTAINERS: readonly string[] = [
  SIDECAR_CONTAINER,
  POLICY_RULES_CONTAINER,
  ENGINE_CONTAINER,
];
/** Identifies the agent of an injected pod. The guard rejects it on other pods. */
export const AGENT_LABEL = 'platform.io/agent';
/** Selects the pods of an agent, also those of `platform generate`. It proves nothing: every pod may have it. */
export const NAME_LABEL = 'platform.io/agent-name';
/** Of an injected pod, because the operator keeps them in memory. The guard has the same maximum. */
export const MAX_LABELS = 100;
export const INJECTED_ANNOTATION = 'platform.io/injected';
/** Contains the product's CA certificates (PEM); a downward API volume mounts them into the pod as a file. */
export const CA_ANNOTATION = 'platform.io/ca';
/** Stops the agent of this pod, also while no process of the product runs; the value is the reason. Mounted as a file like the CA. */
export const STOP_ANNOTATION = 'platform.io/stop';
/** On a controller whose pods were rejected while the injector was unavailable: a change makes it retry immediately. */
export const RETRY_ANNOTATION = 'platform.io/retry';

export const VOLUMES = {
  manifest: 'platform-manifest',
  identity: 'platform-identity',
  state: 'platform-state',
  audit: 'platform-audit',
  noApi: 'platform-noapi',
  policy: 'platform-policy',
  engine: 'platform-engine',
} as const;

/** The directory of the volume `identity` in the sidecar. */
export const IDENTITY_PATH = '/var/run/secrets/platform.io';
/** What the control plane wants the sidecar to apply, kept for a restart of the sidecar without a control plane. */
export const STATE_PATH = '/run/platform-state';

/** The directory of the audit log, in the volume `audit`. */
export const AUDIT_PATH = '/var/log/agent-compliance';

export const OWN_VOLUMES: ReadonlySet<string> = new Set(Object.values(VOLUMES));

/** Ports of the policy engine in the pod: policy queries (loopback only), and health for the kubelet. */
export const ENGINE_PORT = 8181;
export const ENGINE_HEALTH_PORT = 8282;
/** Where the engine and the sidecar mount the volume `engine`, and the engine's Unix socket there. */
export const ENGINE_PATH = '/run/platform-engine';
export const ENGINE_SOCKET = `${ENGINE_PATH}/opa.sock`;
export const PROXY_PORT_NAME = 'platform-proxy';
export const CONTROL_PORT_NAME = 'platform-ctl';

/** The part of the guard's message that reports an unavailable injector. A test compares it with the chart. */
export const NO_RESPONSE = 'the injector did not answer';
/** The name of the chart's webhook in rejections by the API server. */
export const INJECTOR_WEBHOOK = 'pod.inject.platform.io';

/** The audience of the pod's projected token; the API server itself does not accept this token. */
export const TOKEN_AUDIENCE = 'platform.io';

/** RFC 1123 label, 1 to 63 characters. */
export const isDnsLabel = (text: string): boolean => DNS_LABEL.test(text);

/** RFC 1123 subdomain, 1 to 253 characters: a valid ConfigMap name. */
export const isDnsSubdomain = (text: string): boolean => text.length <= 253 && DNS_SUBDOMAIN.test(text);

/** The exit code of a process whose port is already in use. The operator detects port conflicts of sidecars by it. */
export const PORT_TAKEN_EXIT_CODE = 98;
/** The exit code of a sidecar that cannot use its manifest (EX_DATAERR). The operator shows its termination message. */
export const MANIFEST_INVALID_EXIT_CODE = 65;
