import type { Severity } from '../shapes/values.ts';
import type { Check } from '../shapes/health.ts';
import { MAX_NAME_LENGTH } from '../untrusted/reported-name.ts';
import { declaredVariables, modelCheckId, reachTargets } from '../facts/declared.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type { Facts } from '../facts/facts.ts';
import { cut } from '../untrusted/fields.ts';
import { CONTRADICTIONS } from './contradictions.ts';
import type { GapRule, RuleFinding, RuleInput } from './finding.ts';

/** Declared check id -> manifest path that declares it. */
type Declared = ReadonlyMap<string, string>;

const NOT_SHOWN_TEXT = "declared, not shown: the agent's check is skipped";
const NOT_SHOWN_OR_REPORTED_TEXT = `${NOT_SHOWN_TEXT}, or not reported`;

const CONTRADICTED_WHEN = {
  [CONTRADICTIONS.probe.severity]: 'the agent reports it as reachable, and the sidecar cannot reach it',
};

/** Rows that need the agent's own report (agent-sdk mode). */
export const AGENT_RULES: readonly GapRule[] = [
  {
    property: 'model.apiKey',
    title: 'Model not usable, or not checked',
    recommendation:
      "Check the model provider's address and status, set a valid API key, and configure the agent's reporter with this manifest.",
    when: {
      critical: "the agent's model check fails",
      high: 'the model check is skipped (the API key is not set) or not reported',
    },
    find: findModel,
  },
  checkRule({
    prefix: 'env:',
    title: 'Environment variable not set, or not checked',
    severity: 'high',
    field: 'spec.requires.envVars',
    declared: variableIds,
  }),
  checkRule({
    prefix: 'service:',
    title: 'Service not reachable, or not checked',
    severity: 'high',
    field: 'spec.requires.services',
    declared: reachIds('service:'),
    mustBeShown: true,
    isProbed: true,
  }),
  checkRule({
    prefix: 'tool:',
    title: 'Tool not usable, or not checked',
    severity: 'medium',
    field: 'spec.tools',
    declared: toolIds,
    mustBeShown: true,
  }),
  notShownRule('memory:', 'role', 'Memory not checked'),
  notShownRule('mcp:', 'name', 'MCP server not checked'),
];

function variableIds(manifest: Manifest): Declared {
  return new Map([...declaredVariables(manifest)].map(([name, path]) => [`env:${name}`, path]));
}

function reachIds(prefix: string): (manifest: Manifest) => Declared {
  return (manifest) => {
    const targets = reachTargets(manifest).filter((target) => target.id.startsWith(prefix));
    return new Map(targets.map(({ id, path }) => [idInReport(id), path.replace(/\.address$/, '')]));
  };
}

function toolIds(manifest: Manifest): Declared {
  const tools = manifest.spec.tools ?? [];
  return new Map(tools.map(({ name }, index) => [idInReport(`tool:${name}`), `spec.tools[${index}].name`]));
}

/** The id as it appears in a report, where ids are truncated. */
function idInReport(id: string): string {
  return cut(id, MAX_NAME_LENGTH);
}

/** A row for one kind of check: one issue per failed check and per declared item that was not reported. */
function checkRule(row: {
  prefix: string;
  title: string;
  severity: Severity;
  /** Manifest path for a failed check that the manifest does not declare. */
  field: string;
  declared(manifest: Manifest): Declared;
  /** A skipped check of a declared item is also an issue. */
  mustBeShown?: true;
  /** The sidecar probes the items itself. */
  isProbed?: true;
}): GapRule {
  const { prefix, title, severity, mustBeShown, isProbed } = row;
  return {
    property: `${prefix}<name>`,
    title,
    recommendation:
      "Fix the cause of the failed check, configure the agent's reporter to run it, or remove the item from the manifest.",
    when: {
      [severity]: "the agent's check fails, or the declared item is not reported",
      ...(isProbed && CONTRADICTED_WHEN),
      ...(mustBeShown && { low: NOT_SHOWN_TEXT }),
    },
    find: ({ manifest, facts, agentChecks }) => {
      if (agentChecks === null) return null;
      const declared = row.declared(manifest);
      const findings = isProbed ? contradicted(declared, agentChecks, facts) : [];
      for (const [id, field] of declared)
        if (!agentChecks.has(id)) findings.push(notReported(id, field, severity));
      for (const [id, each] of agentChecks)
        if (id.startsWith(prefix) && each.status === 'fail')
          findings.push(failed(each, declared.get(id) ?? row.field, severity));
      return mustBeShown ? [...findings, ...skipped(declared, agentChecks)] : findings;
    },
  };
}

/** A row for a kind of check that is an issue when skipped, not reported or contradicted, but not when it fails. */
function notShownRule(prefix: string, placeholder: string, title: string): GapRule {
  return {
    property: `${prefix}<${placeholder}>`,
    title,
    recommendation: "Enable the agent's reporter to check the item, or remove it from the manifest.",
    when: { ...CONTRADICTED_WHEN, low: NOT_SHOWN_OR_REPORTED_TEXT },
    find: ({ manifest, facts, agentChecks }) => {
      if (agentChecks === null) return null;
      const declared = reachIds(prefix)(manifest);
      const missing = [...declared].filter(([id]) => !agentChecks.has(id));
      return [
        ...contradicted(declared, agentChecks, facts),
        ...skipped(declared, agentChecks),
        ...missing.map(([id, field]) =>
          notShown(id, { field, why: "the agent's report does not contain this check." }),
        ),
      ];
    },
  };
}

/** A finding for each declared item that the agent reports as reachable and the sidecar cannot reach. */
function contradicted(
  declared: Declared,
  agentChecks: ReadonlyMap<string, Check>,
  { reach }: Facts,
): RuleFinding[] {
  return [...declared].flatMap(([id, field]): RuleFinding[] => {
    const probe = reach.get(id);
    if (agentChecks.get(id)?.status !== 'pass' || probe?.state !== 'unreachable') return [];
    return [
      {
        ...CONTRADICTIONS.probe,
        property: id,
        description: `The agent reports ${id} as reachable, and the sidecar cannot reach it: ${probe.reason}.`,
        recommendation: `Start ${id} at the declared address, correct the address in ${field}, or remove it from the manifest. Let the agent's check connect to it.`,
        field,
        declared: id,
        reported: 'pass',
        observed: probe.reason,
      },
    ];
  });
}

/** A finding for each declared item whose check was skipped. */
function skipped(declared: Declared, agentChecks: ReadonlyMap<string, Check>): RuleFinding[] {
  return [...declared].flatMap(([id, field]): RuleFinding[] => {
    const found = agentChecks.get(id);
    if (found?.status !== 'skip') return [];
    const why = `the agent skipped the check${found.message ? `: ${found.message}` : '.'}`;
    return [notShown(id, { field, observed: 'skip', why })];
  });
}

function notShown(
  id: string,
  { why, ...rest }: { why: string; field: string; observed?: string },
): RuleFinding {
  return {
    ...rest,
    severity: 'low',
    property: id,
    description: `${id} is declared, not shown: ${why}`,
    recommendation: `Enable the agent's reporter to check ${id}, or remove it from the manifest.`,
    isNotShown: true,
    declared: id,
  };
}

function failed(check: Check, field: string, severity: Severity): RuleFinding {
  return {
    severity,
    property: check.id,
    description: `The agent's check ${check.id} failed${check.message ? `: ${check.message}` : '.'}`,
    recommendation:
      check.remediation ?? `Fix the cause of the failed check ${check.id}, or remove it from the manifest.`,
    field,
    declared: check.id,
    observed: 'fail',
  };
}

function notReported(id: string, field: string, severity: Severity): RuleFinding {
  return {
    severity,
    property: id,
    description: `${id} is declared, but the agent's report does not contain this check.`,
    recommendation: `Configure the agent's reporter with this manifest so that it checks ${id}, or remove ${id} from the manifest.`,
    field,
    declared: id,
  };
}

function findModel({ manifest, agentChecks }: RuleInput): RuleFinding | null {
  if (agentChecks === null) return null;
  const id = modelCheckId(manifest.spec.model);
  const found = agentChecks.get(id);
  if (found?.status === 'pass') return null;
  const common = { field: 'spec.model.apiKey', declared: id };
  if (found === undefined)
    return {
      ...common,
      severity: 'high',
      description: `The agent's report does not contain the check ${id}. It is not known whether the agent can use its declared model.`,
      recommendation: "Configure the agent's reporter with this manifest so that it checks the model.",
    };
  const problem =
    found.status === 'fail' ? "cannot be used with the agent's API key" : 'was not checked by the agent';
  const fallback =
    found.status === 'fail'
      ? "Check the model provider's address and status, and verify that the API key is valid."
      : `Set the API key that ${manifest.spec.model.apiKey.startsWith('$') ? manifest.spec.model.apiKey : 'spec.model.apiKey'} refers to.`;
  return {
    ...common,
    severity: found.status === 'fail' ? 'critical' : 'high',
    description: `The model ${id.replace(/^model:/, '')} ${problem}${found.message ? `: ${found.message}` : '.'}`,
    recommendation: found.remediation ?? fallback,
    observed: found.status,
  };
}
