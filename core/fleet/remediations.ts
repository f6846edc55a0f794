/**
 * What to do about a problem that both `platform check` and the coverage of the control plane report, by the code of the check.
 * Markdown, because docs/reference/checks.md contains the texts.
 */
export const REMEDIATIONS = {
  'agent-silent':
    'Check the pods of the agent and the logs of their sidecars; the control plane may be unreachable from there.',
  'agent-port-taken': 'Configure another port for this process, and restart the workload.',
  'agent-bypassed': "Set the `targetPort` of the Service to the name of the agent's port, or to 4000.",
  'agent-policy-not-loaded': 'Check the logs of the sidecar and of its policy engine.',
} as const;
