import { valuesTable, type ValueRow } from './helm-values.ts';
import { objectNameOf, objectNames, type DeployPlan } from './plan.ts';

/** README of the generated chart. */
export function chartReadme(plan: DeployPlan, rows: readonly ValueRow[]): string {
  const names = objectNames(objectNameOf(plan.agentName));
  return [
    `# ${plan.agentName}`,
    `This chart deploys the agent ${plan.agentName} with its sidecar, which compares the agent with its manifest, \`files/agent.yaml\`. \`platform generate\` generated the chart from that manifest. It needs Kubernetes 1.33 or newer.`,
    '## Install',
    ...secretSection(plan, names.secrets),
    plan.agentImage === undefined
      ? 'Set `image.repository` to the image of the agent, and `sidecar.image` to the image of the sidecar in your registry:'
      : 'Set `sidecar.image` to the image of the sidecar in your registry:',
    shell(
      `helm install ${names.workload} . --wait \\`,
      ...(plan.agentImage === undefined
        ? [`  --set image.repository=registry.example.com/${plan.agentName} \\`]
        : []),
      `  --set sidecar.image=registry.example.com/${plan.sidecarImage}`,
    ),
    ...(plan.sendsHeartbeats ? heartbeatSection(names.platform) : []),
    '## Read the gap report',
    shell(`kubectl port-forward service/${names.workload} 4001 &`, 'curl -s localhost:4001/gap'),
    `The Service has three ports: ${plan.port} is the agent itself, 4000 is the agent through the sidecar, and 4001 serves the reports. Clients should use port 4000. Port 4001 needs no credentials; restrict it with a NetworkPolicy where that matters.`,
    '## Requirements of the image',
    [
      `- The agent listens on port ${plan.port} on all addresses, and \`GET ${plan.healthPath}\` returns 2xx.`,
      '- The image runs as any user: the pod runs as user 65532, and only `/tmp` is writable.',
    ].join('\n'),
    '## Values',
    `${valuesTable(rows)}\n`,
  ].join('\n\n');
}

const shell = (...lines: string[]): string => ['```sh', ...lines, '```'].join('\n');

function secretSection({ variables }: DeployPlan, secrets: string): string[] {
  if (variables.length === 0) return [];
  const literals = variables.map(({ name }) => `  --from-literal=${name}=CHANGE_ME`);
  return [
    'Create the Secret with the variables that the manifest refers to. The pods wait for it:',
    shell([`kubectl create secret generic ${secrets}`, ...literals].join(' \\\n')),
  ];
}

function heartbeatSection(platform: string): string[] {
  return [
    'To send heartbeats to a control plane, create this Secret from the file `.env.platform` next to this directory, with your values. Restart the pods after a change:',
    shell(`kubectl create secret generic ${platform} --from-env-file=../.env.platform`),
  ];
}
