import type { GeneratedFile } from '../scaffold/generated-file.ts';
import {
  AGENT,
  configMap,
  deployment,
  manifestConfigMap,
  POD,
  secret,
  service,
  SIDECAR,
  VALUE_PLACEHOLDER,
  variableIn,
  type Deployment,
} from './objects.ts';
import { objectNameOf, objectNames, type DeployPlan } from './plan.ts';
import { yamlText, type YamlChanges } from './yaml-text.ts';

type Comments = NonNullable<YamlChanges['comments']>;

/** Files for `kubectl apply -f k8s`, which ignores the example of the Secret because of its suffix. */
export function k8sFiles(plan: DeployPlan): GeneratedFile[] {
  const names = objectNames(objectNameOf(plan.agentName));
  const workload = deployment(plan, names);
  const file = (name: string, value: object, changes: YamlChanges): GeneratedFile => ({
    path: `k8s/${name}`,
    content: yamlText(value, changes),
  });
  return [
    file('deployment.yaml', workload, {
      heading: `The agent ${plan.agentName} with its sidecar. Generated from its manifest by "platform generate".\nA later run with --force replaces this file. Keep changes in an overlay of Kustomize, for example.`,
      comments: [
        ...deploymentComments(workload),
        [[...SIDECAR, 'image'], 'Set the registry from which your cluster pulls the image of the sidecar.'],
        [
          [...AGENT, 'image'],
          plan.agentImage === undefined
            ? 'Set the image of your agent, or generate with --image.'
            : 'The image of your agent.',
        ],
      ],
    }),
    file('service.yaml', service(plan, names), { comments: SERVICE_COMMENTS }),
    file('configmap.yaml', configMap(plan, names), {
      heading: 'Variables of the agent that are not secret.',
    }),
    file('manifest-configmap.yaml', manifestConfigMap(plan, names), {
      heading: 'The manifest. After a change, the sidecar reloads it within about a minute.',
    }),
    {
      ...file('secret.yaml.example', secret(plan, names), {
        heading: secretHeading(plan),
        comments: plan.variables.map(({ name, path }) => [['stringData', name], `Declared at ${path}.`]),
      }),
      isSecret: true,
    },
  ];
}

/** What the authors of a pod should know, in the files of both targets. */
export function deploymentComments(workload: Deployment): Comments {
  const [sidecar] = workload.spec.template.spec.initContainers;
  return [
    [
      [...POD, 'enableServiceLinks'],
      'Every variable that a container needs is listed here, so the variables of Services are off.',
    ],
    [
      [...SIDECAR, 'env', variableIn(sidecar, 'CONTROL_ACCESS'), 'value'],
      'Port 4001 needs no credentials. Restrict it with a NetworkPolicy where that matters.',
    ],
    [
      [...SIDECAR, 'env', variableIn(sidecar, 'AGENT_ENV_NAMES'), 'value'],
      "The names of all variables of the agent's container. The sidecar does not see their values.",
    ],
    [
      [...AGENT, 'startupProbe'],
      'The agent must serve this path; otherwise the pod never becomes ready and restarts every 120 s. Until it does, use tcpSocket in each probe.',
    ],
    [[...AGENT, 'securityContext', 'readOnlyRootFilesystem'], 'Only /tmp is writable.'],
  ];
}

export const SERVICE_COMMENTS: Comments = [
  [
    ['spec', 'ports', 0],
    'The agent itself: requests to this port bypass the sidecar. Do not use it in an Ingress.',
  ],
  [['spec', 'ports', 1], 'The agent through the sidecar. Clients and an Ingress should use this port.'],
  [['spec', 'ports', 2], 'Reports of the sidecar, such as GET /gap.'],
];

function secretHeading({ variables }: DeployPlan): string {
  return variables.length === 0
    ? 'The manifest refers to no variable and no secret, so the agent needs no Secret.'
    : `Copy this file to secret.yaml, replace every ${VALUE_PLACEHOLDER}, and apply it. Do not commit secret.yaml.`;
}
