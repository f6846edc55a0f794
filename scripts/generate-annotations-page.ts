import { ANNOTATIONS } from '../core/injection/annotations.ts';

const INTRODUCTION = `# Pod annotations

<!-- Made by scripts/generate.ts from core/injection/annotations.ts. Do not edit. -->

They stand on the pod: in a Deployment under \`spec.template.metadata.annotations\`. A value that is not allowed is refused
when the pod is created, with the annotation, the value and what is allowed; for a Deployment the refusal is in the
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

Refused besides wrong values: \`hostNetwork\`; an agent, or any container, on port 4000 or 4001; a pod that is not for Linux; a
container or volume with a name of the injector (\`platform-sidecar\`, \`platform-manifest\`, \`platform-identity\`,
\`platform-noapi\`); a pod without owner whose name is still to be generated and which has no \`platform.io/agent-name\`; a
workload name that is no DNS label; another container with the port name of the agent; a sidecar request over its limit.
`;

export function annotationsReferencePage(): string {
  const rows = Object.values(ANNOTATIONS).map(
    ({ name, summary, allowed, default: fallback }) =>
      `| \`${name}\` | ${summary} | ${allowed} | ${fallback} |\n`,
  );
  return INTRODUCTION + rows.join('') + OWN;
}
