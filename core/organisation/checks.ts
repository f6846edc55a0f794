import { addressesOf, FILE, hostsIn } from '../egress/declared.ts';
import { isValid } from '../evidence/proof-expiry.ts';
import type { Manifest, Tool } from '../manifest/manifest.ts';
import { referenceOf } from '../manifest/references.ts';
import type { CheckName, Place } from '../shapes/agent-policy.ts';
import type { FieldError } from '../untrusted/fields.ts';
import { GRADES, isWeaker } from '../shapes/values.ts';
import type { Check, Subject } from './finding.ts';
import { allowsHost, allowsModel, toolProblem, type ToolRule } from './names.ts';
import { matches } from './pattern.ts';

/** The places of a check that needs only the manifest. */
export const OF_MANIFEST: readonly Place[] = ['ci', 'manifest', 'start', 'runtime'];

/** The checks. `expression` is evaluated elsewhere, because its language needs a process of its own. */
export const CHECKS: { readonly [K in Exclude<CheckName, 'expression'>]: Check<K> } = {
  models: {
    places: [...OF_MANIFEST, 'lanes'],
    find({ allowed }, { manifest }) {
      const { model, egress } = manifest.spec;
      const declared = [
        { path: 'spec.model.id', of: model },
        ...(model.fallback === undefined ? [] : [{ path: 'spec.model.fallback.id', of: model.fallback }]),
      ].flatMap(({ path, of: { provider, id } }) =>
        allowsModel(allowed, [provider], id) ? [] : [modelProblem(allowed, path, `${provider}/${id}`)],
      );
      return [...declared, ...modelProblems(allowed, manifest, listed('spec.egress.models', egress?.models))];
    },
    observe: ({ allowed }, { manifest, observation }) =>
      modelProblems(allowed, manifest, listed('status.egress.models', observation.egress?.models)),
  },
  tools: {
    places: [...OF_MANIFEST, 'lanes'],
    find(rule, { manifest }) {
      const { tools = [], egress } = manifest.spec;
      const declared = tools.map(({ name }, index) => ({ path: `spec.tools[${index}].name`, name }));
      const patterns = listed('spec.egress.tools', egress?.tools);
      return [
        ...toolProblems(rule, manifest, declared),
        ...toolProblems(rule, manifest, patterns, { isPattern: true }),
      ];
    },
    observe: (rule, { manifest, observation }) =>
      toolProblems(rule, manifest, listed('status.egress.tools', observation.egress?.tools)),
  },
  hosts: {
    places: [...OF_MANIFEST, 'lanes'],
    find({ allowed }, { manifest }) {
      const { hosts, unknown } = hostsOf(manifest);
      const problems = hosts.flatMap(({ path, name }) => {
        if (name === UNREADABLE) return [{ path, message: 'the host of the address cannot be read' }];
        const message = `host ${name} is not one of ${allowed.join(', ')}`;
        return allowsHost(allowed, name) ? [] : [{ path, message }];
      });
      if (problems.length > 0 || unknown.length === 0) return problems;
      return { notJudged: `the hosts of ${unknown.join(', ')} are not in the manifest` };
    },
  },
  guardrails: {
    places: OF_MANIFEST,
    find(wanted, { manifest }) {
      return (['input', 'output'] as const).flatMap((side) => {
        const declared = (manifest.spec.guardrails?.[side] ?? []).map(({ type }) => type);
        return (wanted[side] ?? []).flatMap((pattern) =>
          declared.some((type) => matches(pattern, type))
            ? []
            : [
                {
                  path: `spec.guardrails.${side}`,
                  message: `the ${side} guardrail ${pattern} must be declared`,
                },
              ],
        );
      });
    },
  },
  budget: {
    places: [...OF_MANIFEST, 'lanes'],
    find(limits, { manifest }) {
      const declared = manifest.spec.model.costControls ?? {};
      return BUDGETS.flatMap(({ key, about, unit }) => {
        const [limit, value] = [limits[key], declared[key]];
        if (limit === undefined || (value !== undefined && value <= limit)) return [];
        const message = `the ${about} must be declared and at most ${limit} ${unit}`;
        return [{ path: `spec.model.costControls.${key}`, message }];
      });
    },
  },
  confirmation: {
    places: OF_MANIFEST,
    find({ tools: which }, { manifest }) {
      const { tools = [], egress, humanInTheLoop } = manifest.spec;
      const approved = humanInTheLoop?.enabled === true ? (humanInTheLoop.approvalRequired ?? []) : [];
      const needed = which === 'all' ? tools : tools.filter((tool) => !isHarmless(tool));
      const names = needed
        .filter(({ annotations }) => annotations?.destructiveHint !== true)
        .map((tool) => ({ path: `spec.tools[${tools.indexOf(tool)}].annotations`, name: tool.name }));
      return [...names, ...listed('spec.egress.tools', egress?.tools)]
        .filter(({ name }) => !approved.includes(name))
        .map(({ path, name }) => ({
          path,
          message: `calls of tool ${name} need the confirmation of a person: set annotations.destructiveHint to true, or list the tool in spec.humanInTheLoop.approvalRequired${which === 'all' ? '' : ', or set readOnlyHint if it changes nothing'}`,
        }));
    },
  },
  runtime: {
    places: ['pod', 'runtime'],
    needs: 'report',
    observe({ minimumMode, lanes, census }, { observation: { policyMode, egress } }) {
      const isTooWeak =
        minimumMode !== undefined && policyMode !== undefined && isWeaker(policyMode, minimumMode);
      return [
        ...(isTooWeak
          ? [
              {
                path: 'status.policyMode',
                message: `the policy mode ${policyMode} is weaker than ${minimumMode}`,
              },
            ]
          : []),
        ...(lanes === true && (egress?.lanes.length ?? 0) === 0
          ? [{ path: 'status.egress.lanes', message: 'the agent has no egress lanes' }]
          : []),
        ...(census === true && egress?.unseenEgress === undefined
          ? [{ path: 'status.egress.unseenEgress', message: 'the socket census does not run' }]
          : []),
      ];
    },
  },
  result: {
    places: ['runtime'],
    needs: 'report',
    observe({ minimumGrade, minimumEvidence }, { observation: { grade, evidence } }) {
      const percent = evidence?.percent;
      const isLower =
        minimumGrade !== undefined &&
        (grade === undefined || GRADES.indexOf(grade) > GRADES.indexOf(minimumGrade));
      return [
        ...(isLower
          ? [{ path: 'status.grade', message: `the grade ${grade ?? '(none)'} is below ${minimumGrade}` }]
          : []),
        ...(minimumEvidence !== undefined && (percent ?? 0) < minimumEvidence
          ? [
              {
                path: 'status.evidence.percent',
                message: `the evidence of ${percent ?? 0} % is below ${minimumEvidence} %`,
              },
            ]
          : []),
      ];
    },
  },
  proofs: {
    places: ['runtime'],
    needs: 'proofs',
    observe({ required, maximumAgeDays = Infinity }, { observation, at }) {
      const oldest = at.getTime() - maximumAgeDays * 86_400_000;
      const counted = (observation.proofs ?? []).filter(
        (proof) => isValid(proof, at) && Date.parse(proof.verifiedAt) >= oldest,
      );
      const age = maximumAgeDays === Infinity ? '' : ` of the last ${maximumAgeDays} days`;
      return required
        .filter((id) => !counted.some(({ ruleId }) => ruleId === id))
        .map((id) => ({ path: 'status.proofs', message: `a valid proof of ${id}${age} is missing` }));
    },
  },
};

const BUDGETS = [
  { key: 'maxMonthlyUSD', about: 'monthly budget', unit: 'USD' },
  { key: 'maxTokensPerDay', about: 'daily token budget', unit: 'tokens' },
] as const;

interface NameAt {
  path: string;
  name: string;
}

/** Names with the path of each. */
export const listed = (path: string, names: readonly string[] = []): NameAt[] =>
  names.map((name, index) => ({ path: `${path}[${index}]`, name }));

const modelProblem = (allowed: readonly string[], path: string, name: string): FieldError => ({
  path,
  message: `model ${name} is not one of ${allowed.join(', ')}`,
});

/** Of models without a vendor. */
function modelProblems(allowed: readonly string[], manifest: Manifest, models: NameAt[]): FieldError[] {
  const vendors = vendorsOf(manifest);
  return models.flatMap(({ path, name }) =>
    allowsModel(allowed, vendors, name) ? [] : [modelProblem(allowed, path, name)],
  );
}

function toolProblems(
  rule: ToolRule,
  manifest: Manifest,
  tools: NameAt[],
  { isPattern = false }: { isPattern?: boolean } = {},
): FieldError[] {
  const servers = mcpServersOf(manifest);
  return tools.flatMap(({ path, name }) => {
    const message = toolProblem(rule, name, { servers, isPattern });
    return message === null ? [] : [{ path, message }];
  });
}

/** Vendors of the declared models, of which a model without a vendor may be. */
export function vendorsOf({ spec: { model } }: Manifest): string[] {
  return [model.provider, ...(model.fallback === undefined ? [] : [model.fallback.provider])];
}

export const mcpServersOf = ({ spec: { mcp } }: Manifest): ReadonlySet<string> =>
  new Set((mcp?.servers ?? []).map(({ name }) => name));

/** Tools without hints may be destructive, as in the Model Context Protocol. */
const isHarmless = ({ annotations }: Tool): boolean =>
  annotations?.readOnlyHint === true || annotations?.destructiveHint === false;

/** Instead of the name of a host that cannot be read. */
const UNREADABLE = '(cannot be read)';

/** Hosts of the manifest by path, without those that follow from the model's vendor, and the paths whose host is not known. */
export function hostsOf(manifest: Manifest): { hosts: NameAt[]; unknown: string[] } {
  const hosts = listed('spec.egress.hosts', manifest.spec.egress?.hosts);
  const unknown: string[] = [];
  for (const { path, value, type } of addressesOf(manifest)) {
    if (FILE.test(value)) continue;
    if (referenceOf(value) !== null) unknown.push(path);
    else for (const name of hostsIn(value, type) ?? [UNREADABLE]) hosts.push({ path, name });
  }
  return { hosts, unknown };
}

/** Whether a check is applied at this place. */
export const appliesAt = (name: CheckName, place: Place): boolean =>
  (name === 'expression' ? OF_MANIFEST : CHECKS[name].places).includes(place);

/** Why a check cannot be applied to a subject; null: it can. */
export function whyNot(name: CheckName, { observation }: Subject): string | null {
  const { needs } = name === 'expression' ? {} : (CHECKS[name] as Check);
  if (needs === undefined || observation?.lastChecked !== undefined) return null;
  if (needs === 'proofs' && observation !== null) return null;
  return observation === null ? 'it needs a running agent' : 'it needs a report of the running agent';
}
