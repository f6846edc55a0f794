import { declaredReferences, declaredVariables, modelCheckId, reachTargets } from '../facts/declared.ts';
import type { EnvironmentFacts, Facts, Reach, SecretFacts } from '../facts/facts.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { referencesIn } from '../manifest/references.ts';
import type { Check, CheckStatus } from './health.ts';
import { categoryOf } from './summarize.ts';

/** What a check found; its severity is given to all checks alike afterwards. */
type Outcome = Pick<Check, 'status' | 'latencyMs' | 'message' | 'remediation'>;

/** The checks that follow from the manifest and from what this process can see, in the order of the kinds below. */
export function ownChecks(manifest: Manifest, facts: Facts): Check[] {
  const references = referenceChecks(manifest, facts);
  const waiting = prerequisites(manifest, references);
  return [
    ...references,
    ...modelChecks(manifest, facts, waiting),
    ...reachChecks(manifest, facts, waiting),
    ...toolChecks(manifest, facts),
  ];
}

function made(id: string, outcome: Outcome): Check {
  return { id, category: categoryOf(id) ?? 'service', severity: 'info', ...outcome };
}

function referenceChecks(manifest: Manifest, facts: Facts): Check[] {
  const variables = [...declaredVariables(manifest).keys()];
  const paths = new Set(declaredReferences(manifest, 'file').map((reference) => reference.name));
  const secrets = new Set(declaredReferences(manifest, 'secret').map((reference) => reference.name));
  return [
    ...variables.map((name) => made(`env:${name}`, variableOutcome(name, facts.environment))),
    ...[...paths].map((path) => made(`file:${path}`, fileOutcome(facts.files.get(path)))),
    ...[...secrets].map((name) => made(`secret:${name}`, secretOutcome(name, facts.secrets))),
  ];
}

function variableOutcome(name: string, environment: EnvironmentFacts): Outcome {
  if (environment.names.has(name)) return { status: 'pass' };
  if (environment.kind === 'declared' && environment.partial)
    return skip('it may come from an envFrom source of the container, which cannot be seen from here');
  const where = environment.kind === 'own' ? 'the environment' : "the agent's container";
  return {
    status: 'fail',
    message: `${name} is not set in ${where}`,
    remediation: `Set the environment variable ${name} for the agent.`,
  };
}

function fileOutcome(state: 'readable' | 'unreadable' | undefined): Outcome {
  if (state === 'readable') return { status: 'pass' };
  if (state === undefined) return skip("the agent's files cannot be seen from here");
  return {
    status: 'fail',
    message: "it cannot be read inside the manifest's folder",
    remediation: 'Put a readable file at this path, inside the folder of the manifest.',
  };
}

function secretOutcome(name: string, secrets: SecretFacts): Outcome {
  if (secrets.backend === 'none') return skip('no secret backend can be seen from here');
  if (secrets.found.has(name)) return { status: 'pass' };
  return {
    status: 'fail',
    message: `the secret backend ${secrets.backend} does not have it`,
    remediation:
      secrets.backend === 'env'
        ? 'Set the variable PLATFORM_SECRET_<NAME> of this secret.'
        : 'Put a file of this name into the folder that PLATFORM_SECRET_DIR names.',
  };
}

function skip(message: string): Outcome {
  return { status: 'skip', message };
}

/** Manifest path to the reason why what stands there cannot be used: its reference did not pass. */
type Prerequisites = ReadonlyMap<string, { missing: boolean; reason: string }>;

function prerequisites(manifest: Manifest, checks: readonly Check[]): Prerequisites {
  const status = new Map<string, CheckStatus>(checks.map((each) => [each.id, each.status]));
  const reasons = new Map<string, { missing: boolean; reason: string }>();
  for (const { kind, name, path } of referencesIn(manifest)) {
    const id = `${kind}:${name}`;
    const found = status.get(id);
    if (found === 'fail') reasons.set(path, { missing: true, reason: `it needs ${id}, which failed` });
    if (found === 'skip')
      reasons.set(path, { missing: false, reason: `it needs ${id}, which cannot be checked here` });
  }
  return reasons;
}

/** Only where the model was asked: the sidecar has no key of the agent's and says nothing rather than guess. */
function modelChecks(manifest: Manifest, facts: Facts, waiting: Prerequisites): Check[] {
  const { model } = manifest.spec;
  const asked = [
    { id: modelCheckId(model), path: 'spec.model.apiKey' },
    ...(model.fallback ? [{ id: modelCheckId(model.fallback), path: 'spec.model.fallback.apiKey' }] : []),
  ];
  return asked.flatMap(({ id, path }) => {
    const reach = facts.reach.get(id);
    if (reach === undefined) return [];
    const remediation = "Check the model provider's address, its status, and the API key.";
    return [made(id, outcomeOf(reach, { needs: waiting.get(path), remediation }))];
  });
}

function reachChecks(manifest: Manifest, facts: Facts, waiting: Prerequisites): Check[] {
  return reachTargets(manifest).map(({ id, path, address }) => {
    const reach: Reach = facts.reach.get(id) ?? {
      state: 'unknown',
      reason: address.known ? 'it was not probed' : address.reason,
    };
    const remediation = 'Check that it runs, and that the address in the manifest is right.';
    return made(id, outcomeOf(reach, { needs: waiting.get(path), remediation }));
  });
}

/** Never a pass on a missing value; one that merely cannot be seen here does not undo what the probe could reach. */
function outcomeOf(
  reach: Reach,
  about: { needs: { missing: boolean; reason: string } | undefined; remediation: string },
): Outcome {
  const { needs, remediation } = about;
  if (needs !== undefined && (needs.missing || reach.state === 'unknown')) return skip(needs.reason);
  return reachOutcome(reach, remediation);
}

/** What a probe's result means as a check. */
export function reachOutcome(reach: Reach, remediation: string): Outcome {
  switch (reach.state) {
    case 'reachable':
      return { status: 'pass', latencyMs: reach.latencyMs };
    case 'unreachable':
      return { status: 'fail', message: reach.reason, remediation };
    case 'unknown':
      return skip(reach.reason);
  }
}

function toolChecks(manifest: Manifest, facts: Facts): Check[] {
  const registered = facts.registeredTools;
  if (registered === undefined) return [];
  return (manifest.spec.tools ?? []).map(({ name }) => made(`tool:${name}`, toolOutcome(name, registered)));
}

function toolOutcome(name: string, registered: ReadonlySet<string> | null): Outcome {
  if (registered === null) return skip('no tool registry was given to the reporter');
  if (registered.has(name)) return { status: 'pass' };
  return {
    status: 'fail',
    message: 'it is declared but not registered',
    remediation: `Register a tool named ${name}, or remove it from the manifest.`,
  };
}
