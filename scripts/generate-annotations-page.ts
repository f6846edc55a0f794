import { ANNOTATIONS } from '../core/injection/annotations.ts';
import { SKIP_SUMMARIES } from '../core/injection/decide.ts';
import { OWN_CONTAINERS, VOLUMES } from '../core/injection/names.ts';
import { REJECTION_SUMMARIES } from '../core/injection/rejections.ts';

const INTRODUCTION = `# Pod annotations

<!-- Made by scripts/generate.ts from core/injection/annotations.ts. Do not edit. -->

They stand on the pod: in a Deployment under \`spec.template.metadata.annotations\`. A value that is not allowed is refused
when the pod is created, with the annotation, the value and what is allowed; for a Deployment the rejection is in the
condition \`ReplicaFailure\` of \`kubectl describe deployment\`. An unknown annotation that begins with \`platform.io/\` is a
warning.

| Annotation | Meaning | Allowed | Default |
| --- | --- | --- | --- |
`;

const OWN = `
The injector writes three more, which are not for you to set: the annotation \`platform.io/injected\` (JSON: version, hash of
the configuration, the agent's container and port, and what was changed in it), the annotation \`platform.io/ca\` (the
certificates that the sidecar trusts) and the label \`platform.io/agent\` (the agent's name). A pod may bring the label
itself when it says the same name.

A quantity of the sidecar is one of four, each by itself; a request that ends over its limit is refused. The port that the
sidecar takes over must speak HTTP/1.1 or WebSocket: for an agent that speaks something else on its first port, name the
other one with \`platform.io/agent-port\`.

## The agent's name

| The pod's controller | Name |
| --- | --- |
| annotation \`platform.io/agent-name\` | that |
| ReplicaSet with the label \`pod-template-hash\` in its name | the ReplicaSet's name without the hash: the Deployment's |
| Job whose name ends in \`-\` and eight or more digits | its name without them: the CronJob's, which numbers its Jobs by the minute |
| any other: StatefulSet, DaemonSet, Job, one of your own | its name |
| none | the pod's own name; with \`generateName\` there is none yet, and the annotation must say it |

## What becomes of a pod

The first row that fits:

| \`platform.io/inject\` | The pod | Outcome |
| --- | --- | --- |
| absent or \`"false"\` | any | let through, \`not-opted-in\` |
| anything else | mirrors a static pod | let through, \`mirror-pod\` |
| anything else | any annotation has a wrong value, this one too | refused, \`annotation-invalid\` for each |
| \`"true"\` | breaks a rule below | refused, with every reason |
| \`"true"\` | otherwise | injected; an earlier injection is taken out first, whatever its version |

The codes are those of the metric \`platform_webhook_decisions_total\` (labels \`action\` and \`code\`, the first of several), of the
log, and of \`platform inject --json\`.

### Let through as it is

`;

export function annotationsReferencePage(): string {
  const rows = Object.values(ANNOTATIONS).map(
    ({ name, summary, allowed, default: fallback }) =>
      `| \`${name}\` | ${summary} | ${allowed} | ${fallback} |\n`,
  );
  const codes = (summaries: Readonly<Record<string, string>>): string =>
    `| Code | When |\n| --- | --- |\n${Object.entries(summaries)
      .map(([code, when]) => `| \`${code}\` | ${when} |\n`)
      .join('')}`;
  return [
    INTRODUCTION,
    ...rows,
    OWN,
    codes(SKIP_SUMMARIES),
    '\n### Refused\n\n',
    codes(REJECTION_SUMMARIES),
    `\nNames of the injector: the containers ${OWN_CONTAINERS.map(code).join(', ')} and the volumes ${Object.values(VOLUMES).map(code).join(', ')}.\n`,
  ].join('');
}

const code = (text: string): string => `\`${text}\``;
