import type { CheckStatus } from '../facts/check.ts';
import { type Check, categoryOf } from '../shapes/health.ts';
import { declaredReferences, declaredVariables, modelCheckId, reachTargets } from '../facts/declared.ts';
import type { EnvironmentFacts, Facts, Reach, SecretFacts } from '../facts/facts.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { referencesIn, secretVariable } from '../manifest/references.ts';

/** The result of a check. The severity is set later, in the same way for all checks. */
type Outcome = Pick<Check, 'status' | 'latencyMs' | 'message' | 'remediation'>;

/** The checks that this process can derive from the manifest and the facts, in the order of the kinds below. */
export function ownChecks(manifest: Manifest, facts: Facts): Check[] {
  const references = referenceChecks(manifest, facts);
  const unmet = unmetPrerequisites(manifest, references);
  return [
    ...references,
    ...modelChecks(manifest, facts, unmet),
    ...reachChecks(manifest, facts, unmet),
    ...toolChecks(manifest, facts),
  ];
}

/** A check whose severity is set later. */
export function checkOf(id: string, outcome: Outcome): Check {
  return { id, category: categoryOf(id) ?? 'service', severity: 'info', ...outcome };
}

function referenceChecks(manifest: Manifest, facts: Facts): Check[] {
  const variables = [...declaredVariables(manifest).keys()];
  const paths = new Set(declaredReferences(manifest, 'file').map((reference) => reference.name));
  const secrets = new Set(declaredReferences(manifest, 'secret').map((reference) => reference.name));
  return [
    ...variables.map((name) => checkOf(`env:${name}`, variableOutcome(name, facts.environment))),
    ...[...paths].map((path) => checkOf(`file:${path}`, fileOutcome(facts.files.get(path)))),
    ...[...secrets].map((name) => checkOf(`secret:${name}`, secretOutcome(name, facts.secrets))),
  ];
}

function variableOutcome(name: string, environment: EnvironmentFacts): Outcome {
  if (environment.names.has(name)) return { status: 'pass' };
  if (environment.kind === 'declared' && environment.partial)
    return skip(
      'the variable may come from an envFrom source of the container, which cannot be read from here',
    );
  const where = environment.kind === 'own' ? 'the environment' : "the agent's container";
  return fail(`${name} is not set in ${where}`, `Set the environment variable ${name} for the agent.`);
}

function fileOutcome(state: 'readable' | 'unreadable' | undefined): Outcome {
  if (state === 'readable') return { status: 'pass' };
  if (state === undefined) return skip("the agent's files cannot be read from here");
  return fail(
    "the file cannot be read inside the manifest's directory",
    "Create a readable file at this path, inside the manifest's directory.",
  );
}

function secretOutcome(name: string, secrets: SecretFacts): Outcome {
  if (secrets.backend === 'none') return skip('no secret backend can be read from here');
  if (secrets.found.has(name)) return { status: 'pass' };
  return fail(
    `the secret backend ${secrets.backend} does not contain this secret`,
    secrets.backend === 'env'
      ? `Set the variable ${secretVariable(name)}.`
      : 'Create a file with this name in the directory in PLATFORM_SECRET_DIR.',
  );
}

export function fail(message: string, remediation: string): Outcome {
  return { status: 'fail', message, remediation };
}

function skip(message: string): Outcome {
  return { status: 'skip', message };
}

/** Manifest path -> why its value cannot be used: the check of its reference did not pass. */
type Prerequisites = ReadonlyMap<string, Prerequisite>;
type Prerequisite = { missing: boolean; reason: string } | undefined;

function unmetPrerequisites(manifest: Manifest, checks: readonly Check[]): Prerequisites {
  const status = new Map<string, CheckStatus>(checks.map((each) => [each.id, each.status]));
  const reasons = new Map<string, Prerequisite>();
  for (const { kind, name, path } of referencesIn(manifest)) {
    const id = `${kind}:${name}`;
    const found = status.get(id);
    if (found === 'fail') reasons.set(path, { missing: true, reason: `requires ${id}, which failed` });
    if (found === 'skip')
      reasons.set(path, { missing: false, reason: `requires ${id}, which cannot be checked here` });
  }
  return reasons;
}

/** Only if the model was probed: the sidecar does not have the agent's API key, so it reports no model check. */
function modelChecks(manifest: Manifest, facts: Facts, unmet: Prerequisites): Check[] {
  const { model } = manifest.spec;
  const models = [
    { id: modelCheckId(model), path: 'spec.model.apiKey' },
    ...(model.fallback ? [{ id: modelCheckId(model.fallback), path: 'spec.model.fallback.apiKey' }] : []),
  ];
  return models.flatMap(({ id, path }) => {
    const reach = facts.reach.get(id);
    if (reach === undefined) return [];
    const remediation = "Check the model provider's address and status, and the API key.";
    return [checkOf(id, outcomeOf(reach, unmet.get(path), remediation))];
  });
}

function reachChecks(manifest: Manifest, facts: Facts, unmet: Prerequisites): Check[] {
  return reachTargets(manifest).map(({ id, path, address }) => {
    const reach: Reach = facts.reach.get(id) ?? {
      state: 'unknown',
      reason: address.known ? 'not probed' : address.reason,
    };
    const remediation = 'Check that the target is running and that its address in the manifest is correct.';
    return checkOf(id, outcomeOf(reach, unmet.get(path), remediation));
  });
}

/** Never `pass` when a required value is missing. A value that cannot be checked here does not override a probe result. */
function outcomeOf(reach: Reach, prerequisite: Prerequisite, remediation: string): Outcome {
  if (prerequisite !== undefined && (prerequisite.missing || reach.state === 'unknown'))
    return skip(prerequisite.reason);
  return reachOutcome(reach, remediation);
}

/** Converts a probe result to a check outcome. */
export function reachOutcome(reach: Reach, remediation: string): Outcome {
  switch (reach.state) {
    case 'reachable':
      return { status: 'pass', latencyMs: reach.latencyMs };
    case 'unreachable':
      return fail(reach.reason, remediation);
    case 'unknown':
      return skip(reach.reason);
  }
}

function toolChecks(manifest: Manifest, facts: Facts): Check[] {
  const registered = facts.registeredTools;
  if (registered === undefined) return [];
  return (manifest.spec.tools ?? []).map(({ name }) =>
    checkOf(`tool:${name}`, toolOutcome(name, registered)),
  );
}

function toolOutcome(name: string, registered: ReadonlySet<string> | null): Outcome {
  if (registered === null) return skip('the reporter has no tool registry');
  if (registered.has(name)) return { status: 'pass' };
  return fail(
    'declared but not registered',
    `Register a tool named ${name}, or remove it from the manifest.`,
  );
}
