import type { GeneratedFile } from '../scaffold/generated-file.ts';
import { helmFiles } from './helm-files.ts';
import { k8sFiles } from './k8s-files.ts';
import { objectNameOf, objectNames, type DeployPlan } from './plan.ts';

/** The kinds of deployment files, each in a directory of its name. */
export const DEPLOY_TARGETS = ['k8s', 'helm'] as const;
export type DeployTarget = (typeof DEPLOY_TARGETS)[number];

const FILES: Readonly<Record<DeployTarget, (plan: DeployPlan) => GeneratedFile[]>> = {
  k8s: k8sFiles,
  helm: helmFiles,
};

export const deployFiles = (target: DeployTarget, plan: DeployPlan): GeneratedFile[] => FILES[target](plan);

/** What to do with the files. The paths are as they are typed in a shell. */
export function nextSteps(
  target: DeployTarget,
  plan: DeployPlan,
  { directory, envFile }: { directory: string; envFile: string },
): string[] {
  const { workload, platform } = objectNames(objectNameOf(plan.agentName));
  const needsSecret = plan.variables.length > 0;
  const heartbeats = plan.sendsHeartbeats
    ? [`kubectl create secret generic ${platform} --from-env-file=${envFile}, with your values in the file`]
    : [];
  if (target === 'helm')
    return [
      ...(needsSecret ? ['create the Secret, as in README.md'] : []),
      ...heartbeats,
      `helm install ${workload} ${directory}${plan.agentImage === undefined ? ' --set image.repository=<image of the agent>' : ''}`,
    ];
  const images = plan.agentImage === undefined ? 'images' : 'image of the sidecar';
  return [
    `set the ${images} in ${directory}/deployment.yaml`,
    ...(needsSecret
      ? [`copy ${directory}/secret.yaml.example to ${directory}/secret.yaml and set the values`]
      : []),
    ...heartbeats,
    `kubectl apply -f ${directory}`,
  ];
}
