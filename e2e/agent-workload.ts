// An agent as users deploy it: a ConfigMap with its manifest, an annotated Deployment and a Service.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from './kubectl.ts';

const EXAMPLES = join(import.meta.dirname, '../examples/agents');

/**
 * Starts the agent as a child process, so that a test can stop and restart the agent without its container: SIGUSR2 kills
 * it, SIGHUP starts it again. Otherwise the first process of a container cannot be stopped from inside.
 */
const SUPERVISOR = `
const { spawn } = require('node:child_process');
let child;
const start = () => { child = spawn(process.execPath, ['dist/example-agents/main.js'], { stdio: 'inherit' }); };
process.on('SIGUSR2', () => child.kill('SIGKILL'));
process.on('SIGHUP', start);
process.on('SIGTERM', () => { child.once('exit', () => process.exit(0)); child.kill('SIGTERM'); });
// Signal handlers do not keep the process alive, so it would exit without its child.
setInterval(() => undefined, 60_000);
start();
`;

export const TAKE_DOWN = `process.kill(1, 'SIGUSR2')`;
export const BRING_BACK = `process.kill(1, 'SIGHUP')`;

export interface AgentWorkload {
  name: string;
  image: string;
  /** Default: the manifest of examples/agents/compliant with this name. */
  manifest?: string;
  annotations?: Record<string, string>;
  /** Environment of the agent's container. */
  env?: Record<string, string>;
  replicas?: number;
}

/** The manifest of an example agent (default: compliant) with another name. */
export function manifestOf(name: string, profile = 'compliant'): string {
  return readFileSync(join(EXAMPLES, profile, 'agent.yaml'), 'utf8').replace(
    /^( {2}name: ).*$/m,
    `$1${name}`,
  );
}

export function manifestConfigMap(name: string, manifest: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `${name}-manifest` },
    data: { 'agent.yaml': manifest },
  };
}

export function agentWorkload(options: AgentWorkload): KubeObject[] {
  const { name, image, replicas = 1 } = options;
  const labels = { app: name };
  return [
    manifestConfigMap(name, options.manifest ?? manifestOf(name)),
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels, annotations: { 'platform.io/inject': 'true', ...options.annotations } },
          spec: {
            terminationGracePeriodSeconds: 5,
            containers: [
              {
                name: 'agent',
                image,
                imagePullPolicy: 'IfNotPresent',
                args: ['-e', SUPERVISOR],
                env: [
                  { name: 'AGENT_PROFILE', value: 'compliant' },
                  { name: 'AGENT_NAME', value: name },
                  { name: 'OPENAI_API_KEY', value: 'not-a-real-key' },
                  ...Object.entries(options.env ?? {}).map(([name, value]) => ({ name, value })),
                ],
                ports: [{ name: 'http', containerPort: 8000 }],
                resources: { limits: { memory: '256Mi' } },
              },
            ],
          },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { selector: labels, ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
    },
  ];
}
