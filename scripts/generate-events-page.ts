import ts from 'typescript';
import { markdownTable } from './markdown-table.ts';
import { nodesIn, PARTS, placeOf, sourcesOf, textsOf, type Part } from './source-code.ts';

interface Meaning {
  object: string;
  when: string;
  /** Only where the code selects the type at run time. */
  type?: 'Normal' | 'Warning' | 'Normal or Warning';
}

const AGENT = 'AgentObservation';
const WORKLOAD = 'workload';
const INJECTOR = 'Deployment of the injector';

const phase = (name: string, type: 'Normal' | 'Warning'): Meaning => ({
  object: AGENT,
  type,
  when: `The phase became ${name}. The note contains the previous phase, and the message of the condition \`Ready\` unless it is True.`,
});

/** Every reason in the code needs a row, and every row a reason in the code. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  Observed: { object: AGENT, when: 'The AgentObservation was created.' },
  Injected: {
    object: WORKLOAD,
    when: 'All pods have the sidecar: when the AgentObservation was created, or when the condition `Injected` became True.',
  },
  SidecarMissing: {
    object: WORKLOAD,
    when: 'A pod has no sidecar: when the AgentObservation was created, or when the condition `Injected` was True before.',
  },
  CaUnknown: {
    object: WORKLOAD,
    when: 'A pod trusts another CA than the control plane: when the AgentObservation was created, or when the condition `Injected` was True before.',
  },
  InjectionSkipped: {
    object: `${WORKLOAD}, or the pod if it mirrors a static pod`,
    when: 'A pod opts in but is never injected. Once per workload and code; the note contains the code.',
  },
  NotObserved: {
    object: WORKLOAD,
    when: 'An AgentObservation of source `remote` has the name of the agent.',
  },
  PortTaken: {
    object: `${AGENT}, ${WORKLOAD}`,
    when: 'Another process of a pod uses a port of the sidecar.',
  },
  ManifestInvalid: {
    object: `${AGENT}, ${WORKLOAD}`,
    when: 'The condition `ManifestValid` is False. Once per text; the note is the message of the condition.',
  },
  ManifestChanged: {
    object: `${AGENT}, ${WORKLOAD}`,
    type: 'Normal or Warning',
    when: 'The first instance with another manifest reported. The note has the two hashes, the differences and their weight. Warning unless all differences have the severity LOW. [A changed manifest](../guide/organisation.md#a-changed-manifest)',
  },
  NotAllowed: {
    object: `${AGENT}, ${WORKLOAD}`,
    when: 'The condition `Allowed` is False. Once per text; the note is the message of the condition.',
  },
  AgentStopped: {
    object: `${AGENT}, ${WORKLOAD}`,
    when: 'Every instance of the agent confirmed a stop (the condition `Stopped` is True). The note has the person, the end and the reason.',
  },
  AgentResumed: {
    object: `${AGENT}, ${WORKLOAD}`,
    when: 'The agent is no longer stopped: the stop was deleted or expired.',
  },
  SidecarOutOfMemory: {
    object: `${AGENT}, ${WORKLOAD}`,
    when: 'The condition `SidecarFits` became False with the reason `OutOfMemory`.',
  },
  Pending: phase('Pending', 'Normal'),
  Healthy: phase('Healthy', 'Normal'),
  Degraded: phase('Degraded', 'Warning'),
  Unhealthy: phase('Unhealthy', 'Warning'),
  Unknown: phase('Unknown', 'Warning'),
  GradeChanged: {
    object: AGENT,
    type: 'Normal or Warning',
    when: 'The grade changed. Warning if it became worse, or if the first grade is C, D or F.',
  },
  PodsRefused: {
    object: WORKLOAD,
    when: 'Pods of the workload are missing because the guard, the injector, a ResourceQuota or a LimitRange rejected them. The note contains the message of the rejection.',
  },
  Retry: {
    object: WORKLOAD,
    when: 'The operator made the controller create missing pods again, after the injector was unavailable.',
  },
  CanaryPassed: {
    object: INJECTOR,
    type: 'Normal',
    when: 'The dry-run pod of the canary was injected as expected.',
  },
  CanaryFailed: {
    object: INJECTOR,
    type: 'Warning',
    when: 'The dry-run pod of the canary was not injected as expected. The note contains the outcome.',
  },
};

/** The types of each reason, from the Events that the sources create. */
function typesByReason(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const files = new Set((Object.keys(PARTS) as Part[]).flatMap(sourcesOf));
  for (const literal of [...files].flatMap((file) => nodesIn(file, ts.isObjectLiteralExpression))) {
    const members = new Map(
      literal.properties.flatMap((each) =>
        ts.isPropertyAssignment(each) ? [[each.name.getText(), each.initializer] as const] : [],
      ),
    );
    const [type, reason] = [members.get('type'), members.get('reason')];
    if (!type || !reason || !members.has('action')) continue;
    const [types, reasons] = [textsOf(type), textsOf(reason)];
    if (types === null || reasons === null)
      throw new Error(`${placeOf(literal)}: the reason is not a literal`);
    for (const each of reasons) found.set(each, new Set([...(found.get(each) ?? []), ...types]));
  }
  return found;
}

function rows(): string[][] {
  const found = typesByReason();
  for (const reason of found.keys())
    if (!(reason in MEANINGS))
      throw new Error(`the Event ${reason} has no row in scripts/generate-events-page.ts`);
  return Object.entries(MEANINGS).map(([reason, { object, when, type }]) => {
    const types = [...(found.get(reason) ?? [])];
    if (types.length === 0) throw new Error(`no source creates the Event ${reason}`);
    if (types.length > 1 !== (type !== undefined))
      throw new Error(`the type of the Event ${reason} is wrong`);
    return [`\`${reason}\``, type ?? types.join(), object, when];
  });
}

/** `docs/reference/events.md`. */
export function eventsReferencePage(): string {
  return `# Events

<!-- Generated by scripts/generate.ts from the Events in the sources, and the table in scripts/generate-events-page.ts. Do not edit. -->

The operator emits these Events (\`kubectl describe\`, \`kubectl events\`). The \`reportingController\` is \`platform.io/operator\`.
The conditions of an AgentObservation have their own reasons: see [AgentObservation](agentobservation.md#conditions).

${markdownTable(['Reason', 'Type', 'Object', 'Emitted when'], rows())}
- The workload is the owner of the pods, such as a Deployment.
- Each change of the phase and of the grade is also emitted on the workload, with the prefix \`Agent\`: \`AgentPending\`,
  \`AgentHealthy\`, \`AgentDegraded\`, \`AgentUnhealthy\`, \`AgentUnknown\` and \`AgentGradeChanged\`.
- Repetitions with the same note are counted in one Event; so are repetitions of one change of the phase or of the grade,
  whose note has the details of the first one. [Once per transition](../observation.md#events) describes when an
  Event is emitted again.
`;
}
