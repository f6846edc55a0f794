import * as z from 'zod';
import { audit } from '../../core/audit/audit.ts';
import { diffManifests } from '../../authoring/diff/diff.ts';
import { suppression } from '../../core/shapes/audit.ts';
import { fieldError } from '../../core/shapes/problem.ts';
import { PACKS } from '../../core/shapes/values.ts';
import { MAX_MANIFEST_BYTES } from '../../core/manifest/parse-manifest.ts';
import { describeRefusal, type LoadedManifest } from '../../runtime/manifest-file.ts';
import { auditObject } from '../audit-object.ts';
import { validationOf } from '../load.ts';
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

const position = { line: z.number().optional(), column: z.number().optional() };

const validation = z.object({
  valid: z.boolean(),
  agentName: z.string().optional(),
  version: z.string().optional(),
  apiVersion: z.string().optional(),
  problems: z
    .array(
      z.object({
        path: z.string().describe('Path in the manifest, such as spec.tools[0].name'),
        message: z.string(),
        file: z.string().optional(),
        ...position,
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
  grade: z.string(),
  provedScore: z.number().optional().describe('Score of the rules with evidence at run time, 0 to 100'),
  provedGrade: z.string().optional(),
  pendingProofCount: z.number().optional(),
  countedProofs: z.array(z.object({ ruleId: z.string(), origin: z.string().nullable() })).optional(),
  uncountedProofs: z.array(z.string()).optional(),
  passedRules: z.number(),
  totalRules: z.number(),
  violations: z.array(
    z.object({
      ruleId: z.string(),
      severity: z.string(),
      pack: z.string(),
      tier: z.string(),
      message: z.string(),
      path: z.string().describe('Path of the missing or wrong value in the manifest'),
      recommendation: z.string(),
      references: z.array(z.string()),
    }),
  ),
  fixes: z
    .array(
      z.object({
        ruleIds: z.array(z.string()),
        path: z.string(),
        recommendation: z.string(),
        score: z.number(),
        grade: z.string(),
      }),
    )
    .describe('The fixes that raise the declared score most; each score includes the fixes before it'),
  suppressions: z.array(z.object(loose(suppression, ['rule', 'reason', 'state']))),
});

const diffReport = z.object({
  from: z.string(),
  to: z.string(),
  scoreFrom: z.number(),
  scoreTo: z.number(),
  gradeFrom: z.string(),
  gradeTo: z.string(),
  netScoreChange: z.number(),
  changes: z.array(
    z.object({
      type: z.string(),
      property: z.string(),
      severity: z.string(),
      scoreImpact: z.number(),
      description: z.string(),
      code: z.string().describe('Code of the change, for explain_rule'),
    }),
  ),
});

const explanation = z.object({
  rule: z.string(),
  kind: z.string(),
  cases: z.array(z.object({ severity: z.string(), points: z.number().optional(), when: z.string() })),
  pack: z.string().optional(),
  tier: z.string().optional(),
  evidence: z.string().optional(),
  message: z.string().optional(),
  recommendation: z.string().optional(),
  references: z.array(z.string()).optional(),
  declaredAt: z.string().optional(),
});

type Invalid = LoadedManifest & { ok: false };

const rejected = (loaded: Invalid): Outcome => ({ ok: false, reason: describeRefusal(loaded).join('\n') });

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
