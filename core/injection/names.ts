/** Names that injection gives to what it adds. The chart's guard policy and the operator know them too. */
export const SIDECAR_CONTAINER = 'platform-sidecar';
/** Renders the rules for the policy engine, before it starts. */
export const RULES_CONTAINER = 'platform-policy';
export const ENGINE_CONTAINER = 'platform-opa';
export const OWN_CONTAINERS: readonly string[] = [SIDECAR_CONTAINER, RULES_CONTAINER, ENGINE_CONTAINER];
export const AGENT_LABEL = 'platform.io/agent';
export const INJECTED_ANNOTATION = 'platform.io/injected';
/** Carries the product's CA certificates (PEM) into the pod, where a downward API volume makes a file of it. */
export const CA_ANNOTATION = 'platform.io/ca';

export const VOLUMES = {
  manifest: 'platform-manifest',
  identity: 'platform-identity',
  noApi: 'platform-noapi',
  policy: 'platform-policy',
} as const;

export const OWN_VOLUMES: ReadonlySet<string> = new Set(Object.values(VOLUMES));

export const PROXY_PORT = 4000;
export const CONTROL_PORT = 4001;
/** The policy engine in the pod: its questions on loopback, its health for the kubelet. */
export const ENGINE_PORT = 8181;
export const ENGINE_HEALTH_PORT = 8282;
export const PROXY_PORT_NAME = 'platform-proxy';
export const CONTROL_PORT_NAME = 'platform-ctl';

/** How the chart's guard policy says that the injector was away; a test holds the two together. */
export const NO_ANSWER = 'the injector did not answer';
/** The chart's webhook, as the API server names it in a rejection. */
export const INJECTOR_WEBHOOK = 'pod.inject.platform.io';

/** The audience of the pod's projected token; worthless at the API server itself. */
export const TOKEN_AUDIENCE = 'platform.io';

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** RFC 1123 label, 1..63. */
export const isDnsLabel = (text: string): boolean => LABEL.test(text);

/** RFC 1123 subdomain, 1..253: what a ConfigMap may be called. */
export const isDnsSubdomain = (text: string): boolean => text.length <= 253 && SUBDOMAIN.test(text);

/** How a process of the product ends whose port another process has. The operator recognises a sidecar by it. */
export const PORT_TAKEN_EXIT_CODE = 98;
