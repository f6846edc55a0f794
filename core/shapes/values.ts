/** Values of closed lists in several wire formats. Their order is that of error messages. */

export const GRADES = ['A', 'B', 'C', 'D', 'F'] as const;
export type Grade = (typeof GRADES)[number];

export const PHASES = ['Pending', 'Healthy', 'Degraded', 'Unhealthy', 'Unknown'] as const;
export type Phase = (typeof PHASES)[number];

/** Runtime that an agent declares at registration. */
export const RUNTIMES = ['k8s', 'docker', 'local', 'bedrock', 'vertex', 'other'] as const;
export type Runtime = (typeof RUNTIMES)[number];

/** `track`: denials are recorded. `enforce`: denied requests are rejected. `off`: requests are not evaluated. */
export const POLICY_MODES = ['track', 'enforce', 'off'] as const;
export type PolicyMode = (typeof POLICY_MODES)[number];
