/** Where an agent that registers says that it runs. */
export const RUNTIMES = ['k8s', 'docker', 'local', 'bedrock', 'vertex', 'other'] as const;
export type Runtime = (typeof RUNTIMES)[number];
