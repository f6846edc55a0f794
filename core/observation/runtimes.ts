/** Runtime that an agent declares at registration. */
export const RUNTIMES = ['k8s', 'docker', 'local', 'bedrock', 'vertex', 'other'] as const;
export type Runtime = (typeof RUNTIMES)[number];
