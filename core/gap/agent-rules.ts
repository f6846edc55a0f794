import { MAX_NAME_LENGTH } from '../behavior/reported-name.ts';
import { declaredVariables, modelCheckId, reachTargets } from '../facts/declared.ts';
import type { Check } from '../health/health.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { cut } from '../untrusted/fields.ts';
import type { Finding, GapRule, RuleInput } from './finding.ts';
import type { Severity } from './gap.ts';

/** Declared check id to the manifest path that declares it. */
type Declared = ReadonlyMap<string, string>;

const NOT_SHOWN_WORDS = "declared, not shown: the agent's check is skipped";
const NOT_SHOWN_OR_REPORTED_WORDS = `${NOT_SHOWN_WORDS}, or not reported`;

/** Rows that only an agent's own report can fill (agent-sdk mode). */
export const AGENT_RULES: readonly GapRule[] = [
  {
    property: 'model.apiKey',
    when: {
      critical: "the agent's check of its model fails",
      high: 'it is skipped (the key is not set), or not reported',
    },
    find: findModel,
  },
  checkRule({ prefix: 'env:', severity: 'high', field: 'spec.requires.envVars', declared: variableIds }),
  checkRule({
    prefix: 'service:',
    severity: 'high',
    field: 'spec.requires.services',
    declared: reachIds('service:'),
    mustBeShown: true,
  }),
  checkRule({
    prefix: 'tool:',
    severity: 'medium',
    field: 'spec.tools',
    declared: toolIds,
    mustBeShown: true,
  }),
  notShownRule('memory:', 'role'),
  notShownRule('mcp:', 'name'),
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

/** Ids in a report are cut there. */
function idInReport(id: string): string {
  return cut(id, MAX_NAME_LENGTH);
}

/** A row for one kind of check: an issue for each one that failed, and for each declared one that was not reported. */
function checkRule(row: {
  prefix: string;
  severity: Severity;
  /** Where a failed check belongs that the manifest does not declare. */
  field: string;
  declared(manifest: Manifest): Declared;
  /** A declared item whose check is skipped is an issue, too. */
  mustBeShown?: true;
}): GapRule {
  const { prefix, severity, mustBeShown } = row;
  return {
    property: `${prefix}<name>`,
    when: {
      [severity]: "the agent's check fails, or the declared item is not reported",
      ...(mustBeShown && { low: NOT_SHOWN_WORDS }),
    },
    find: ({ manifest, agentChecks }) => {
      if (agentChecks === null) return [];
      const declared = row.declared(manifest);
      const findings: Finding[] = [];
      for (const [id, field] of declared)
        if (!agentChecks.has(id)) findings.push(notReported(id, field, severity));
      for (const [id, each] of agentChecks)
        if (id.startsWith(prefix) && each.status === 'fail')
          findings.push(failed(each, declared.get(id) ?? row.field, severity));
      return mustBeShown ? [...findings, ...skipped(declared, agentChecks)] : findings;
    },
  };
}

/** A row for a kind of check whose failure is not an issue, but whose skip is; leaving the check out costs the same. */
function notShownRule(prefix: string, what: string): GapRule {
  return {
    property: `${prefix}<${what}>`,
    when: { low: NOT_SHOWN_OR_REPORTED_WORDS },
    find: ({ manifest, agentChecks }) => {
      if (agentChecks === null) return [];
      const declared = reachIds(prefix)(manifest);
      const missing = [...declared].filter(([id]) => !agentChecks.has(id));
      return [
        ...skipped(declared, agentChecks),
        ...missing.map(([id, field]) =>
          notShown({ id, field, observed: null, why: "the agent's report has no such check." }),
        ),
      ];
    },
  };
}

/** A finding for each declared item whose check the agent skips. */
function skipped(declared: Declared, agentChecks: ReadonlyMap<string, Check>): Finding[] {
  return [...declared].flatMap(([id, field]): Finding[] => {
    const found = agentChecks.get(id);
    if (found?.status !== 'skip') return [];
    const why = `the agent skips the check${found.message ? `: ${found.message}` : '.'}`;
    return [notShown({ id, field, observed: 'skip', why })];
  });
}

function notShown({
  id,
  why,
  ...rest
}: {
  id: string;
  field: string;
  observed: string | null;
  why: string;
}): Finding {
  return {
    ...rest,
    severity: 'low',
    property: id,
    description: `${id} is declared, not shown: ${why}`,
    recommendation: `Make the agent's reporter able to check ${id}, or remove it from the manifest.`,
    isNotShown: true,
    declared: id,
    evidenceLevel: 'probed',
  };
}

function failed(check: Check, field: string, severity: Severity): Finding {
  return {
    severity,
    property: check.id,
    description: `The agent's check ${check.id} failed${check.message ? `: ${check.message}` : '.'}`,
    recommendation:
      check.remediation ?? `Make the agent's check ${check.id} pass, or remove it from the manifest.`,
    field,
    declared: check.id,
    observed: 'fail',
    evidenceLevel: 'probed',
  };
}

function notReported(id: string, field: string, severity: Severity): Finding {
  return {
    severity,
    property: id,
    description: `${id} is declared, but the agent's report has no such check.`,
    recommendation: `Give the agent's reporter this manifest, so that it checks ${id}, or remove it from the manifest.`,
    field,
    declared: id,
    observed: null,
    evidenceLevel: 'probed',
  };
}

function findModel({ manifest, agentChecks }: RuleInput): Finding[] {
  if (agentChecks === null) return [];
  const id = modelCheckId(manifest.spec.model);
  const found = agentChecks.get(id);
  if (found?.status === 'pass') return [];
  const about = {
    property: 'model.apiKey',
    field: 'spec.model.apiKey',
    evidenceLevel: 'probed' as const,
    declared: id,
  };
  if (found === undefined)
    return [
      {
        ...about,
        severity: 'high',
        description: `The agent's report has no check ${id}: whether it can use its declared model is not known.`,
        recommendation: "Give the agent's reporter this manifest, so that it checks the model.",
        observed: null,
      },
    ];
  const words =
    found.status === 'fail' ? 'cannot be used with the key that the agent has' : 'could not be asked';
  const fallback =
    found.status === 'fail'
      ? "Check the model provider's address and status, and that the API key is valid."
      : `Set the API key that ${manifest.spec.model.apiKey.startsWith('$') ? manifest.spec.model.apiKey : 'spec.model.apiKey'} names.`;
  return [
    {
      ...about,
      severity: found.status === 'fail' ? 'critical' : 'high',
      description: `The model ${id.replace(/^model:/, '')} ${words}${found.message ? `: ${found.message}` : '.'}`,
      recommendation: found.remediation ?? fallback,
      observed: found.status,
    },
  ];
}
