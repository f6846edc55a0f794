import * as z from 'zod';
import { audit } from '../../core/audit/audit.ts';
import { diffManifests } from '../../authoring/diff/diff.ts';
import { suppression } from '../../core/shapes/audit.ts';
import { fieldError } from '../../core/shapes/problem.ts';
import { PACKS } from '../../core/shapes/values.ts';
import { MAX_MANIFEST_BYTES } from '../../core/manifest/parse-manifest.ts';
import { describeRefusal, type LoadedManifest } from '../../runtime/manifest-file.ts';
import { notFound } from '../admin-key.ts';
import { auditObject } from '../audit-object.ts';
import { validationOf, type InvalidManifest } from '../load.ts';
import { evidenceFor } from '../sidecar-evidence.ts';
import { explain } from './explain.ts';
import { loose } from './loose.ts';
import { loadSource } from './manifest-files.ts';
import { sidecarOf, VARIABLES } from './target.ts';
import { tool, type Outcome, type Tool } from './tool.ts';

const source = {
  path: z
    .string()
    .max(4_096)
    .optional()
    .describe('Path of the manifest, such as agent.yaml, relative to the working directory of the server'),
  revision: z
    .string()
    .regex(/^[\w@{}~^./][\w@{}~^./-]{0,199}$/, 'must be a git revision such as main or HEAD~1')
    .optional()
    .describe('Git revision in which path is read, such as main or HEAD~1; absent: the working tree'),
  text: z
    .string()
    .max(MAX_MANIFEST_BYTES)
    .optional()
    .describe('YAML text of the manifest, instead of path; for a draft that is not saved'),
};

/** Members of one type. */
const each = <N extends string, T extends z.ZodType>(type: T, ...names: readonly N[]) =>
  Object.fromEntries(names.map((name) => [name, type])) as Record<N, T>;
const [text, number] = [z.string(), z.number()];

const validation = z.object({
  valid: z.boolean(),
  ...each(text.optional(), 'agentName', 'version', 'apiVersion'),
  problems: z
    .array(
      z.object({
        path: z.string().describe('Path in the manifest, such as spec.tools[0].name'),
        message: text,
        file: text.optional(),
        ...each(number.optional(), 'line', 'column'),
        suggestion: z.string().optional().describe('The key or value that was probably meant'),
      }),
    )
    .describe('What must be fixed before the manifest is valid'),
  warnings: z
    .array(z.object(loose(fieldError, ['path', 'message'])))
    .optional()
    .describe('Declarations that nothing can check'),
});

const auditReport = z.object({
  overallScore: z.number().describe('Declared score, 0 to 100'),
  grade: text,
  provedScore: z.number().optional().describe('Score of the rules with evidence at run time, 0 to 100'),
  provedGrade: text.optional(),
  pendingProofCount: number.optional(),
  countedProofs: z.array(z.object({ ruleId: text, origin: text.nullable() })).optional(),
  uncountedProofs: z.array(text).optional(),
  staleProofs: z.array(text).optional(),
  ...each(number, 'passedRules', 'totalRules'),
  violations: z.array(
    z.object({
      ...each(text, 'ruleId', 'severity', 'pack', 'tier', 'message'),
      path: z.string().describe('Path of the missing or wrong value in the manifest'),
      recommendation: text,
      references: z.array(text),
    }),
  ),
  fixes: z
    .array(
      z.object({
        ruleIds: z.array(text),
        ...each(text, 'path', 'recommendation'),
        score: number,
        grade: text,
      }),
    )
    .describe('The fixes that raise the declared score most; each score includes the fixes before it'),
  suppressions: z.array(z.object(loose(suppression, ['rule', 'reason', 'state']))),
});

const diffReport = z.object({
  ...each(text, 'from', 'to'),
  ...each(number, 'scoreFrom', 'scoreTo'),
  ...each(text, 'gradeFrom', 'gradeTo'),
  netScoreChange: number,
  changes: z.array(
    z.object({
      ...each(text, 'type', 'property', 'severity'),
      scoreImpact: number,
      description: text,
      code: z.string().describe('Code of the change, for explain_rule'),
    }),
  ),
});

const explanation = z.object({
  ...each(text, 'rule', 'kind'),
  cases: z.array(z.object({ severity: text, points: number.optional(), when: text })),
  ...each(text.optional(), 'pack', 'tier', 'evidence', 'message', 'recommendation'),
  references: z.array(text).optional(),
  declaredAt: text.optional(),
});

const rejected = (loaded: InvalidManifest): Outcome => notFound(describeRefusal(loaded).join('\n'));

/** Tools about manifests and rules. They need no running agent. */
export const MANIFEST_TOOLS: readonly Tool[] = [
  tool({
    name: 'explain_rule',
    title: 'Explain a rule',
    description:
      'Explains one rule: a compliance rule of an audit (SEC-LLM-01), an issue of a gap report (healthcheckable, tool:search, policy.pii_detector_not_invoked) or a change in a diff (guardrail-removed). Returns when it applies, its severity and points, which evidence shows that it is met, and how to fix it. Call it before you change a manifest because of a finding.',
    input: z.strictObject({
      rule: z.string().min(1).max(200).describe('Id of a rule, property of an issue, or code of a change'),
    }),
    output: explanation,
    call: ({ rule }) => Promise.resolve(explain(rule)),
  }),
  tool({
    name: 'validate_manifest',
    title: 'Validate a manifest',
    description:
      'Checks an agent manifest (agent.yaml) against its schema, without network. Returns every problem with path, line, column and a suggestion, and warnings about declarations that nothing can check. Call it after each change of a manifest; the schema is the resource agent-compliance://schema.',
    input: z.strictObject(source),
    output: validation,
    call: async (input, context) => {
      const loaded = await loadSource(input, context);
      return !loaded.ok && loaded.unreadable === true
        ? rejected(loaded)
        : { ok: true, value: validationOf(loaded) };
    },
  }),
  tool({
    name: 'audit_manifest',
    title: 'Audit a manifest',
    description: `Rates a valid manifest by the compliance rules and returns the declared score, the violated rules with a recommendation each, and the suppressions. With proved: true or sidecarUrl it also gets the evidence of the agent's sidecar and returns the proved score. Use explain_rule for details of a rule.`,
    input: z.strictObject({
      ...source,
      packs: z
        .array(z.enum(PACKS))
        .optional()
        .describe('Rule packs to audit; absent: the packs of the manifest, else all'),
      proved: z
        .boolean()
        .optional()
        .describe(`Also compute the proved score, from the sidecar in ${VARIABLES.sidecarUrl}`),
      sidecarUrl: z
        .string()
        .max(2_048)
        .optional()
        .describe(
          `URL of the sidecar's control port (4001), for the proved score; overrides ${VARIABLES.sidecarUrl}`,
        ),
    }),
    output: auditReport,
    isRemote: true,
    call: async ({ packs = [], proved, sidecarUrl, ...input }, context) => {
      const loaded = await loadSource(input, context);
      if (!loaded.ok) return rejected(loaded);
      const { manifest } = loaded;
      const at = context.now();
      if (proved !== true && sidecarUrl === undefined)
        return { ok: true, value: auditObject(manifest, audit(manifest, { packs, evidence: null, at })) };
      const sidecar = sidecarOf({ sidecarUrl }, context.env);
      if (!sidecar.ok) return sidecar;
      const fetched = await evidenceFor(manifest, sidecar.value, { signal: context.signal });
      if (!fetched.ok) return fetched;
      const { evidence } = fetched;
      return { ok: true, value: auditObject(manifest, audit(manifest, { packs, evidence, at })) };
    },
  }),
  tool({
    name: 'diff_manifests',
    title: 'Compare two manifests',
    description:
      'Compares two versions of a manifest by name and type, never by position, and returns each change with its severity (HIGH: a guardrail or a key reference was removed; MEDIUM: model or evaluation; LOW: other) and the effect on a score that starts at 100. To review uncommitted work, compare {path: "agent.yaml", revision: "main"} with {path: "agent.yaml"}.',
    input: z.strictObject({
      from: z.strictObject(source).describe('The earlier manifest'),
      to: z.strictObject(source).describe('The later manifest'),
    }),
    output: diffReport,
    call: async ({ from, to }, context) => {
      const [before, after] = [await loadSource(from, context), await loadSource(to, context)];
      if (!before.ok) return rejected(before);
      if (!after.ok) return rejected(after);
      const named = ({ file, manifest }: LoadedManifest & { ok: true }) => ({ name: file, manifest });
      return { ok: true, value: diffManifests(named(before), named(after)) };
    },
  }),
];
