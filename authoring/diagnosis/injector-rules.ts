import type { CertificateFacts, GuardFacts, InstalledFacts, ReleaseFacts } from './facts.ts';
import { judged, judging, type CheckRule, type Outcome, type Problem } from './rule.ts';
import { logsCommand, upgradeCommand } from './commands.ts';

/** Checks of injection and guard. */
export const INJECTOR_RULES: readonly CheckRule<InstalledFacts>[] = [
  {
    code: 'injector-not-asked',
    severity: 'error',
    when: 'the MutatingWebhookConfiguration does not exist, so that the API server does not call the injector',
    remediation: 'Repeat `helm upgrade` with the same values.',
    evaluate: judging('injector', (found, { release }) =>
      found === null
        ? about(
            release,
            'the release has no MutatingWebhookConfiguration: no pod is injected',
            upgradeCommand(release),
          )
        : null,
    ),
  },
  {
    code: 'injector-not-trusted',
    severity: 'error',
    when: 'the caBundle of the webhook configuration is empty, or does not contain the CA of the certificate that the injector serves',
    remediation:
      'The webhook maintains both. Check its log, and check whether another client writes to the configuration.',
    evaluate: trustOutcome,
  },
  {
    code: 'injector-no-answer',
    severity: 'error',
    when: 'a dry-run pod that opts in is admitted without a sidecar, or the guard reports that the injector did not answer. The check tests the full request path with the live certificate',
    remediation:
      'Check the pods and the log of the webhook, and the network between the API server and port 9443 of the webhook (network policies, firewalls of managed control planes).',
    evaluate: judging('trial', (found, { release }) => {
      const hint = logsCommand(release.namespace, 'webhook');
      if (found.outcome === 'admitted')
        return about(release, 'a pod that opts in is admitted without a sidecar', hint);
      return found.outcome === 'refused' && found.noResponse
        ? about(release, 'a pod that opts in is rejected because the injector did not answer', hint)
        : null;
    }),
  },
  {
    code: 'injection-refused',
    severity: 'error',
    when: 'a valid dry-run pod that opts in is rejected by another component, such as a quota, another policy or another webhook',
    remediation: 'The message names the component that rejected the pod.',
    evaluate: judging('trial', (found, { release }) =>
      found.outcome === 'refused' && !found.noResponse
        ? about(
            release,
            `a pod that opts in is rejected: ${found.message}`,
            'the message names the component that rejected the pod',
          )
        : null,
    ),
  },
  {
    code: 'canary-failing',
    severity: 'error',
    when: "the operator's canary finds an unexpected result in its dry-run pods",
    remediation:
      'The message and the reason of the condition `CanaryPassing` describe the finding. [The canary](../guide/kubernetes.md#the-canary) lists all findings.',
    evaluate: judging('canary', (found, { release }) =>
      found?.status === 'False'
        ? about(release, `the canary fails: ${found.message}`, logsCommand(release.namespace, 'operator'))
        : null,
    ),
  },
  {
    code: 'guard-missing',
    severity: 'error',
    when: 'the guard is part of the release, but its ValidatingAdmissionPolicy or its binding does not exist',
    remediation:
      'Repeat `helm upgrade` with the same values; until then, an agent can start without a sidecar.',
    evaluate: judging('guard', (found, { helm, release }) =>
      isDisabledByValue(helm)
        ? null
        : missingParts(found).map((what) => about(release, what, upgradeCommand(release))),
    ),
  },
  {
    code: 'guard-off',
    severity: 'warning',
    when: 'the chart value `guard.action` is `off` or `warn`, or the binding has no action `Deny`',
    remediation:
      'Set `guard.action` to `deny`. Otherwise an agent starts without a sidecar while the injector is unavailable.',
    evaluate: judging('guard', (found, { helm, release }) => {
      const hint = upgradeCommand(release, '--set guard.action=deny');
      if (isDisabledByValue(helm)) return about(release, 'the guard is switched off (guard.action)', hint);
      if (!isWarnOnly(found)) return null;
      const actions = found.bindings.flat().join(', ');
      return about(release, `the guard ${found.name} does not deny; its validationActions: ${actions}`, hint);
    }),
  },
  {
    code: 'guard-ineffective',
    severity: 'error',
    when: 'a dry-run pod with the invalid annotation `platform.io/inject: "maybe"` is admitted, so neither the injector nor the guard rejects it. The result is unknown if another component rejects the pod, such as a quota',
    remediation: 'Check the guard, its binding, and the namespaces that injector and guard exclude.',
    evaluate: wrongTrialOutcome,
  },
  {
    code: 'certificate-expired',
    severity: 'error',
    when: 'a certificate of the product has expired',
    remediation:
      'The webhook renews the certificates; check its log. If you delete tls.crt in the Secret, the webhook issues a new certificate.',
    evaluate: judging('certificates', (all, { at, release }) =>
      all.filter(({ notAfter }) => notAfter <= at).map((each) => certificate(each, release, 'expired')),
    ),
  },
  {
    code: 'certificate-not-renewed',
    severity: 'warning',
    when: 'a certificate expires soon, although the webhook should already have renewed it',
    remediation:
      'Check the log of the webhook. The webhook renews its own certificate 30 days before expiry, and a CA one year before expiry.',
    evaluate: judging('certificates', (all, { at, release }) =>
      all
        .filter(({ notAfter, lateDays }) => {
          const days = (notAfter.getTime() - at.getTime()) / DAY_MS;
          return days > 0 && days < lateDays;
        })
        .map((each) => certificate(each, release, 'expires')),
    ),
  },
];

const DAY_MS = 86_400_000;

function about({ namespace, name }: ReleaseFacts, message: string, hint: string): Problem {
  return { subject: `release ${namespace}/${name}`, message, hint };
}

function certificate(
  { what, notAfter }: CertificateFacts,
  { namespace }: ReleaseFacts,
  verb: 'expired' | 'expires',
): Problem {
  const message = `the ${what} ${verb} on ${notAfter.toISOString().slice(0, 10)}`;
  return { subject: what, message, hint: logsCommand(namespace, 'webhook') };
}

function trustOutcome({ injector, trusted, release }: InstalledFacts): Outcome {
  const untrusted = (what: string): Problem =>
    about(release, what, logsCommand(release.namespace, 'webhook'));
  if (injector.known && injector.value?.hasCa === false) {
    const what = `MutatingWebhookConfiguration ${injector.value.name} has no caBundle: the API server trusts no certificate`;
    return { problems: [untrusted(what)], unknown: [] };
  }
  return judged(trusted, (isTrusted) => {
    if (isTrusted === null) return untrusted('the injector has no certificate yet');
    return isTrusted
      ? null
      : untrusted('the certificate of the injector is not signed by a CA in the caBundle');
  });
}

/** A rejection by another component proves nothing about the injector and the guard. */
function wrongTrialOutcome({ wrongTrial, guard, helm, release }: InstalledFacts): Outcome {
  if (isDisabledByValue(helm) || (guard.known && isWarnOnly(guard.value)))
    return judged(wrongTrial, () => null);
  if (wrongTrial.known && wrongTrial.value.outcome === 'refused' && wrongTrial.value.by === 'other')
    return {
      problems: [],
      unknown: [
        `a pod with platform.io/inject: "maybe" is rejected by another component, so the guard could not be tested: ${wrongTrial.value.message}`,
      ],
    };
  return judged(wrongTrial, ({ outcome }) =>
    outcome === 'refused'
      ? null
      : about(
          release,
          'a pod with platform.io/inject: "maybe" is admitted: neither the injector nor the guard rejects invalid values',
          upgradeCommand(release),
        ),
  );
}

/** Whether the chart's value disables the guard. Without permission to read Secrets, it counts as not disabled. */
function isDisabledByValue(helm: InstalledFacts['helm']): boolean {
  if (!helm.known || !helm.value?.content.ok) return false;
  const { objects } = helm.value.content;
  return !objects.some(({ kind, name }) => kind === 'ValidatingAdmissionPolicy' && name.endsWith('-guard'));
}

function isWarnOnly({ bindings }: GuardFacts): boolean {
  return bindings.length > 0 && bindings.every((actions) => !actions.includes('Deny'));
}

function missingParts({ name, hasPolicy, bindings }: GuardFacts): string[] {
  const missing = [];
  if (!hasPolicy) missing.push('ValidatingAdmissionPolicy');
  if (bindings.length === 0) missing.push('ValidatingAdmissionPolicyBinding');
  return missing.map((kind) => `${kind} ${name} does not exist: the guard rejects nothing`);
}
