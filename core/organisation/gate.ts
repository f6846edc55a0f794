import type { ManifestProblem } from '../manifest/manifest.ts';
import { checkOf, type Place } from '../shapes/agent-policy.ts';
import type { OrganisationFinding } from '../shapes/organisation.ts';
import { MODES_BY_STRICTNESS, type PolicyMode } from '../shapes/values.ts';
import { onOneLine } from '../untrusted/on-one-line.ts';
import { appliesAt } from './checks.ts';
import type { AgentPolicy, Judgement, Subject } from './finding.ts';
import { rulesFor, selects } from './select.ts';

/** Policies of the namespace with the rules that apply at this place. Which agents they select is not compared. */
export function policiesAt(
  policies: readonly AgentPolicy[],
  place: Place,
  { labels }: Pick<Subject, 'labels'>,
): AgentPolicy[] {
  return policies.flatMap(({ name, spec }) => {
    const { agents: _, ...ofEveryAgent } = spec;
    const rules = spec.rules.filter((rule) => appliesAt(checkOf(rule), place));
    const isSelected = selects({ name, spec: ofEveryAgent }, { labels, names: [] }) !== 'no';
    return isSelected && rules.length > 0 ? [{ name, spec: { ...spec, rules } }] : [];
  });
}

/** The reply to the writer of a manifest. */
export interface GateReply {
  /** null: the manifest may be written. */
  denied: string | null;
  warnings: string[];
}

/** The API server cuts what it tells a client. */
const MAX_LINES = 50;
const MAX_WARNINGS = 10;
const MAX_TEXT = 500;

/**
 * The reply to the writer of a judged manifest: all findings of Deny rules, and as warnings those of Warn rules and what was not judged.
 * @param policies what was judged
 */
export function gateReply(
  agent: string,
  policies: readonly AgentPolicy[],
  { findings, notJudged }: Judgement,
): GateReply {
  const denials = findings.filter(({ action }) => action === 'Deny');
  const rules = new Set(denials.map(({ policy, rule }) => `${policy}/${rule}`)).size;
  const lines = denials.map(
    ({ policy, rule, severity, path, message }) =>
      `  ${policy}/${rule} (${severity})${path === '' ? '' : ` ${path}`}: ${oneLine(message)}`,
  );
  const warned = findings
    .filter(({ action }) => action === 'Warn')
    .map(
      ({ policy, rule, path, message }) =>
        `organisation rule ${policy}/${rule}: ${path === '' ? '' : `${path}: `}${oneLine(message)}`,
    );
  const actionOf = ({ policy, rule }: { policy: string; rule?: string | undefined }) =>
    policies.find(({ name }) => name === policy)?.spec.rules.find(({ id }) => id === rule)?.action;
  const missed = notJudged
    .filter((each) => actionOf(each) !== 'Audit')
    .map(({ policy, rule, reason }) =>
      oneLine(
        `organisation rule ${rule === undefined ? policy : `${policy}/${rule}`} was not judged: ${reason}`,
      ),
    );
  const head = `agent ${agent} breaks ${rules} organisation rule${rules === 1 ? '' : 's'}:`;
  return {
    denied: rules === 0 ? null : [head, ...limited(lines, MAX_LINES, '  ')].join('\n'),
    warnings: limited([...missed, ...warned], MAX_WARNINGS),
  };
}

function limited(lines: readonly string[], max: number, indent = ''): string[] {
  const more = lines.length - max;
  return more > 0 ? [...lines.slice(0, max), `${indent}and ${more} more`] : [...lines];
}

/** Names in the manifest are its author's choice. The API server drops a warning that has control characters. */
const oneLine = (text: string): string => onOneLine(text, MAX_TEXT);

/** The largest manifest that is judged, in bytes of UTF-8. Larger ones take too long. */
export const MAX_JUDGED_BYTES = 65_536;

/** Why a manifest cannot be judged. */
export const UNJUDGED = {
  binary:
    'key agent.yaml must be text in data, not in binaryData: the organisation rules cannot be checked otherwise',
  tooLarge: (bytes: number): string =>
    `agent.yaml has ${bytes} bytes; at most ${MAX_JUDGED_BYTES} can be checked`,
  tooSlow: 'agent.yaml takes too long to check, so the organisation rules cannot be checked',
  invalid([first, ...others]: readonly ManifestProblem[]): string {
    const { line = 1, column = 1, path = '', message = '' } = first ?? {};
    const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
    const text = oneLine(path === '' ? message : `${path}: ${message}`);
    return `agent.yaml is not a valid manifest, so the organisation rules cannot be checked: ${line}:${column}: ${text}${more}`;
  },
};

/** The finding of a manifest that cannot be judged: that of the first Deny rule that applies. null: none does. */
export function denialWithout(
  policies: readonly AgentPolicy[],
  subject: Pick<Subject, 'namespace' | 'labels' | 'names' | 'at'>,
  reason: string,
): OrganisationFinding | null {
  for (const policy of policies) {
    const rule = rulesFor([policy], subject).find(
      (each) => each.action === 'Deny' && appliesAt(checkOf(each), 'start'),
    );
    if (rule !== undefined)
      return {
        ...{ policy: policy.name, rule: rule.id, severity: rule.severity ?? 'high', action: 'Deny' },
        ...{ path: '', message: reason },
      };
  }
  return null;
}

/** The strictest policy mode that Deny rules require of the pods of an agent. */
export function minimumModeOf(
  policies: readonly AgentPolicy[],
  subject: Pick<Subject, 'namespace' | 'labels' | 'names' | 'at'>,
): PolicyMode {
  const modes = rulesFor(policies, subject).flatMap(({ action, runtime }) =>
    action === 'Deny' ? (runtime?.minimumMode ?? []) : [],
  );
  return MODES_BY_STRICTNESS.findLast((mode) => modes.includes(mode)) ?? 'off';
}
