import type { AgentPolicySpec, CheckName, OrganisationRule, Place } from '../shapes/agent-policy.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import type { FieldError } from '../untrusted/fields.ts';
import type { NotJudged, OrganisationFinding } from '../shapes/organisation.ts';

/** An AgentPolicy whose spec was parsed. */
export interface AgentPolicy {
  name: string;
  spec: AgentPolicySpec;
}

/** Where a process gets the rules from. */
export interface RuleSource {
  /** null: not known, because the API server did not list them. */
  policies(): readonly AgentPolicy[] | null;
  /** Why the policies cannot be read; null: they are read, or will be soon. */
  problem(): string | null;
  /** Policies that are not valid. None of their rules is applied. */
  invalid(): readonly NotJudged[];
  /** null: not known. */
  labelsOf(namespace: string): Readonly<Record<string, string>> | null;
}

/** What the rules are applied to. */
export interface Subject {
  /** null: not known, as in CI. */
  namespace: string | null;
  /** Labels of the namespace; null: not known. */
  labels: Readonly<Record<string, string>> | null;
  /**
   * The names of the agent: that of the manifest and, in a cluster, that of the pod's label. A policy applies if one of them is selected.
   * An exception applies if all of them are selected, because the developer chooses the name.
   */
  names: readonly string[];
  manifest: Manifest;
  /** null: nothing runs yet. */
  observation: ObservationStatus | null;
  at: Date;
}

export interface Judgement {
  findings: OrganisationFinding[];
  /** Never shown as passed. */
  notJudged: NotJudged[];
}

/** One row of the table of checks. */
export interface Check<K extends CheckName = CheckName> {
  /** The places that apply it to a Deny rule. */
  places: readonly Place[];
  /** What it needs of a running agent: a report, or only its proofs. Absent: nothing. */
  needs?: 'report' | 'proofs';
  /** Compares the manifest. A text: why that is not possible here. Absent: the check is only about running agents. */
  find?(part: NonNullable<OrganisationRule[K]>, subject: Subject): FieldError[] | { notJudged: string };
  /** Compares what was observed of a running agent. Absent: nothing is. */
  observe?(
    part: NonNullable<OrganisationRule[K]>,
    subject: Pick<Subject, 'manifest' | 'at'> & { observation: ObservationStatus },
  ): FieldError[];
}
