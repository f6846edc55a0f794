import { isDnsLabel } from '../../core/injection/names.ts';
import {
  integer,
  kubernetesName,
  optionalHeaderSecret,
  optionalHttpUrl,
  optionalText,
  type ConfigOf,
  type EnvProblem,
  type Summaries,
} from '../../runtime/env.ts';
import type { MirrorContext } from './mirror.ts';

/** The variables for the remote control plane (outside the cluster). */
export const REMOTE_FIELDS = {
  PLATFORM_CONTROL_PLANE_URL: optionalHttpUrl,
  PLATFORM_ADMIN_KEY: optionalHeaderSecret,
  PLATFORM_CA_FILE: optionalText,
  REMOTE_NAMESPACE: kubernetesName('platform-remote', isDnsLabel),
  REMOTE_POLL_SECONDS: integer({ min: 1, max: 3600, default: 30 }),
} as const;

export const REMOTE_SUMMARIES: Summaries<typeof REMOTE_FIELDS> = {
  PLATFORM_CONTROL_PLANE_URL:
    'URL of a control plane outside this cluster, whose agents are mirrored. Unset: no mirroring, and mirrored agents are removed.',
  PLATFORM_ADMIN_KEY: 'Admin key of that control plane; required with PLATFORM_CONTROL_PLANE_URL.',
  PLATFORM_CA_FILE:
    'PEM file with the CA certificates that verify its certificate. Unset: the CAs that Node.js trusts.',
  REMOTE_NAMESPACE: 'Namespace of the AgentObservations of agents outside the cluster.',
  REMOTE_POLL_SECONDS: 'Seconds between two polls of the agent list while they succeed.',
};

type RemoteConfig = ConfigOf<typeof REMOTE_FIELDS>;

/** The control plane would reject every request without the key. */
export function remoteProblems({
  PLATFORM_CONTROL_PLANE_URL: url,
  PLATFORM_ADMIN_KEY: key,
}: RemoteConfig): EnvProblem[] {
  if (url === null || key !== null) return [];
  const wanted = 'the admin key of the control plane at PLATFORM_CONTROL_PLANE_URL';
  return [{ name: 'PLATFORM_ADMIN_KEY', value: '(unset)', wanted }];
}

/** The settings of the mirror; `source` is null without a URL. */
export function mirrorSettings(
  config: RemoteConfig,
): Pick<MirrorContext, 'source' | 'namespace' | 'pollSeconds'> {
  const { PLATFORM_CONTROL_PLANE_URL: url, PLATFORM_ADMIN_KEY: adminKey, PLATFORM_CA_FILE: caFile } = config;
  return {
    source: url === null || adminKey === null ? null : { url, adminKey, caFile },
    namespace: config.REMOTE_NAMESPACE,
    pollSeconds: config.REMOTE_POLL_SECONDS,
  };
}
