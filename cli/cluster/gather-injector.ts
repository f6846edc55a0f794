import type {
  CertificateFacts,
  GuardFacts,
  InjectorFacts,
  ReleaseFacts,
} from '../../authoring/diagnosis/facts.ts';
import { ADMISSION_POLICIES, canaryConditionOf, type AdmissionPolicy } from '../../kube/canary-condition.ts';
import type { KubeClient } from '../../kube/client.ts';
import { bundleOf, decodedEntries } from '../../kube/encoded.ts';
import { getObject, listObjects, type ListSelection } from '../../kube/objects.ts';
import { SECRETS, WEBHOOK_CONFIGURATIONS, type Resource } from '../../kube/resources.ts';
import type { WebhookConfiguration } from '../../kube/types.ts';
import { certificatesIn, leadsTo } from './certificates.ts';
import { BINDINGS, labelsOf, type PolicyBinding } from './kinds.ts';
import { chainFact, mapFact, readFact } from './read-fact.ts';
import { tryPod } from './trial.ts';

/** The canary's policy, with the namespaces to which it applies. */
interface Policy extends AdmissionPolicy {
  spec?: { matchConstraints?: { namespaceSelector?: { matchLabels?: Record<string, string> } } };
}

const POLICIES: Resource<Policy> = ADMISSION_POLICIES;
const NAMESPACE_NAME = 'kubernetes.io/metadata.name';
/** Used if no canary is installed. */
const ANY_NAMESPACE = 'default';

/** `prefix`: common name prefix of the release's objects. */
export async function gatherInjector(
  client: KubeClient,
  { name: release, namespace }: ReleaseFacts,
  prefix: string,
) {
  const own = { labelSelector: labelsOf(release) };
  const itemsOf = async <T>(resource: Resource<T>, selection?: ListSelection): Promise<T[]> =>
    (await listObjects(client, resource, selection)).items;
  const [injectors, policies, bindings, pems] = await Promise.all([
    readFact('list mutatingwebhookconfigurations', () => itemsOf(WEBHOOK_CONFIGURATIONS, own)),
    readFact('list validatingadmissionpolicies', () => itemsOf(POLICIES, own)),
    readFact('list validatingadmissionpolicybindings', () => itemsOf(BINDINGS)),
    readFact(`get secrets in ${namespace}`, () => pemsOf(client, namespace, prefix)),
  ]);
  const guard = `${prefix}-guard`;
  const canary = policies.known
    ? policies.value.find(({ metadata }) => metadata.name === `${prefix}-canary`)
    : undefined;
  const trialNamespace =
    canary?.spec?.matchConstraints?.namespaceSelector?.matchLabels?.[NAMESPACE_NAME] ?? ANY_NAMESPACE;
  const place = { namespace: trialNamespace, guard };
  const [trial, wrongTrial] = await Promise.all([
    tryPod(client, place, 'true'),
    tryPod(client, place, 'maybe'),
  ]);
  return {
    injector: mapFact(injectors, ([found]) => injectorFacts(found)),
    trusted: await chainFact(injectors, ([found]) => mapFact(pems, (all) => isTrusted(found, all))),
    certificates: mapFact(pems, certificateFacts),
    trial,
    wrongTrial,
    guard: await chainFact(policies, (all) => mapFact(bindings, (bound) => guardFacts(guard, all, bound))),
    canary: mapFact(policies, () => canaryConditionOf(canary ?? null)),
  };
}

function guardFacts(
  name: string,
  policies: readonly Policy[],
  bindings: readonly PolicyBinding[],
): GuardFacts {
  return {
    name,
    hasPolicy: policies.some(({ metadata }) => metadata.name === name),
    bindings: bindings
      .filter(({ spec }) => spec?.policyName === name)
      .map(({ spec }) => spec?.validationActions ?? []),
  };
}

function injectorFacts(found: WebhookConfiguration | undefined): InjectorFacts | null {
  if (found === undefined) return null;
  const webhooks = found.webhooks ?? [];
  const excluded = webhooks
    .flatMap(({ namespaceSelector }) => namespaceSelector?.matchExpressions ?? [])
    .filter(({ key, operator }) => key === NAMESPACE_NAME && operator === 'NotIn')
    .flatMap(({ values = [] }) => values);
  const hasCa = webhooks.every(({ clientConfig }) => (clientConfig.caBundle ?? '') !== '');
  return { name: found.metadata.name, hasCa, excluded };
}

/** PEM texts of the release's Secrets; empty if the Secret does not exist yet. */
type Pems = Awaited<ReturnType<typeof pemsOf>>;

async function pemsOf(client: KubeClient, namespace: string, prefix: string) {
  const [injector, controlPlane] = await Promise.all(
    ['webhook', 'control-plane'].map(async (part) =>
      decodedEntries(await getObject(client, SECRETS, { namespace, name: `${prefix}-${part}-tls` })),
    ),
  );
  return {
    injector: injector?.['tls.crt'] ?? '',
    ca: injector?.['ca.crt'] ?? '',
    controlPlane: controlPlane?.['tls.crt'] ?? '',
  };
}

function isTrusted(found: WebhookConfiguration | undefined, { injector }: Pems): boolean | null {
  const chain = certificatesIn(injector);
  if (chain.length === 0) return null;
  return leadsTo(chain, certificatesIn(found ? bundleOf(found) : ''));
}

/** The webhook renews leaf certificates 30 days before they expire, CAs one year before. */
const LATE_DAYS = { leaf: 14, ca: 180 };

function certificateFacts({ injector, ca, controlPlane }: Pems): CertificateFacts[] {
  const named: [string, string, number][] = [
    ['certificate of the injector', injector, LATE_DAYS.leaf],
    ['CA of the injector', ca, LATE_DAYS.ca],
    ['certificate of the control plane', controlPlane, LATE_DAYS.leaf],
  ];
  return named.flatMap(([what, pem, lateDays]) =>
    certificatesIn(pem)
      .slice(0, 1)
      .map(({ validToDate }) => ({ what, notAfter: validToDate, lateDays })),
  );
}
