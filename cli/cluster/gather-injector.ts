import type { X509Certificate } from 'node:crypto';
import { known } from '../../core/diagnosis/fact.ts';
import type {
  CertificateFacts,
  InjectorFacts,
  InstalledFacts,
  ReleaseFacts,
} from '../../core/diagnosis/facts.ts';
import { ADMISSION_POLICIES, canaryConditionOf, type AdmissionPolicy } from '../../kube/canary-condition.ts';
import type { KubeClient } from '../../kube/client.ts';
import { getObject, listObjects } from '../../kube/objects.ts';
import type { Resource } from '../../kube/resources.ts';
import { certificatesIn, leadsTo } from './certificates.ts';
import { BINDINGS, INJECTORS, labelsOf, SECRETS, type InjectorConfiguration } from './kinds.ts';
import { chainFact, readFact } from './read-fact.ts';
import { tryPod } from './trial.ts';

/** The canary's policy, with the namespaces to which it applies. */
interface Policy extends AdmissionPolicy {
  spec?: { matchConstraints?: { namespaceSelector?: { matchLabels?: Record<string, string> } } };
}

const POLICIES: Resource<Policy> = ADMISSION_POLICIES;
const NAMESPACE_NAME = 'kubernetes.io/metadata.name';
/** Used if no canary is installed. */
const ANY_NAMESPACE = 'default';

export type InjectorPart = Pick<
  InstalledFacts,
  'injector' | 'trusted' | 'certificates' | 'trial' | 'wrongTrial' | 'guard' | 'canary'
>;

/** `prefix`: common name prefix of the release's objects. */
export async function gatherInjector(
  client: KubeClient,
  { name: release, namespace }: ReleaseFacts,
  prefix: string,
): Promise<InjectorPart> {
  const labelSelector = labelsOf(release);
  const [configuration, policies, bindings, pems] = await Promise.all([
    readFact('list mutatingwebhookconfigurations', async () => {
      const { items } = await listObjects(client, INJECTORS, { labelSelector });
      return items[0] ?? null;
    }),
    readFact('list validatingadmissionpolicies', async () => {
      const { items } = await listObjects(client, POLICIES, { labelSelector });
      return items;
    }),
    readFact('list validatingadmissionpolicybindings', async () => {
      const { items } = await listObjects(client, BINDINGS);
      return items;
    }),
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
    injector: configuration.known ? known(injectorFacts(configuration.value)) : configuration,
    trusted: await chainFact(configuration, (found) =>
      pems.known ? known(isTrusted(found, pems.value)) : pems,
    ),
    certificates: pems.known ? known(certificateFacts(pems.value)) : pems,
    trial,
    wrongTrial,
    guard: await chainFact(policies, (all) =>
      bindings.known
        ? known({
            name: guard,
            hasPolicy: all.some(({ metadata }) => metadata.name === guard),
            bindings: bindings.value
              .filter(({ spec }) => spec?.policyName === guard)
              .map(({ spec }) => spec?.validationActions ?? []),
          })
        : bindings,
    ),
    canary: policies.known ? known(canary === undefined ? null : canaryConditionOf(canary)) : policies,
  };
}

function injectorFacts(found: InjectorConfiguration | null): InjectorFacts | null {
  if (found === null) return null;
  const webhooks = found.webhooks ?? [];
  const excluded = webhooks
    .flatMap(({ namespaceSelector }) => namespaceSelector?.matchExpressions ?? [])
    .filter(({ key, operator }) => key === NAMESPACE_NAME && operator === 'NotIn')
    .flatMap(({ values = [] }) => values);
  const hasCa = webhooks.every(({ clientConfig }) => (clientConfig.caBundle ?? '') !== '');
  return { name: found.metadata.name, hasCa, excluded };
}

/** PEM texts of the release's Secrets; empty if the Secret does not exist yet. */
interface Pems {
  injector: string;
  ca: string;
  controlPlane: string;
}

async function pemsOf(client: KubeClient, namespace: string, prefix: string): Promise<Pems> {
  const entry = async (name: string) => {
    const secret = await getObject(client, SECRETS, { namespace, name: `${prefix}-${name}-tls` });
    return (key: string) => Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8');
  };
  const [webhook, controlPlane] = await Promise.all([entry('webhook'), entry('control-plane')]);
  return {
    injector: webhook('tls.crt'),
    ca: webhook('ca.crt'),
    controlPlane: controlPlane('tls.crt'),
  };
}

function isTrusted(found: InjectorConfiguration | null, { injector }: Pems): boolean | null {
  const chain = certificatesIn(injector);
  if (chain.length === 0) return null;
  const bundles = (found?.webhooks ?? []).map(({ clientConfig }) =>
    certificatesIn(Buffer.from(clientConfig.caBundle ?? '', 'base64').toString('utf8')),
  );
  return bundles.length > 0 && bundles.every((bundle) => leadsTo(chain, bundle));
}

/** The webhook renews leaf certificates 30 days before they expire, CAs one year before. */
const LATE_DAYS = { leaf: 14, ca: 180 };

function certificateFacts({ injector, ca, controlPlane }: Pems): CertificateFacts[] {
  const named: [string, string, number][] = [
    ['certificate of the injector', injector, LATE_DAYS.leaf],
    ['CA of the injector', ca, LATE_DAYS.ca],
    ['certificate of the control plane', controlPlane, LATE_DAYS.leaf],
  ];
  return named.flatMap(([what, pem, lateDays]) => {
    const [first]: (X509Certificate | undefined)[] = certificatesIn(pem);
    return first === undefined ? [] : [{ what, notAfter: first.validToDate, lateDays }];
  });
}
