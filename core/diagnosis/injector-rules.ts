import type { CertificateFacts, GuardFacts, InstalledFacts, ReleaseFacts } from './facts.ts';
import { judged, type CheckRule, type Outcome, type Problem } from './rule.ts';
import { upgradeCommand } from './upgrade-command.ts';

/** Whether pods that opt in get their sidecar, and nothing gets past it. */
export const INJECTOR_RULES: readonly CheckRule<InstalledFacts>[] = [
  {
    code: 'injector-not-asked',
    severity: 'error',
    when: 'the MutatingWebhookConfiguration is not there, so that the API server asks nobody',
    remediation: 'Repeat `helm upgrade` with the same values.',
    look: ({ injector, release }) =>
      judged(injector, (found) =>
        found === null
          ? [
              about(
                release,
                'there is no MutatingWebhookConfiguration of the release: no pod is injected',
                upgradeCommand(release),
              ),
            ]
          : [],
      ),
  },
  {
    code: 'injector-not-trusted',
    severity: 'error',
    when: 'the caBundle of the webhook configuration is empty, or the certificate that the injector serves does not lead to it',
    remediation: 'The webhook keeps both by itself: look at its log, and at what else writes to the configuration.',
    look: trustOutcome,
  },
  {
    code: 'injector-no-answer',
    severity: 'error',
    when: 'a dry-run pod that opts in comes back without a sidecar, or the guard says that the injector did not answer: the whole way is tried, with the certificate that is really served',
    remediation: 'Look at the pods and the log of the webhook, and at what is between the API server and its port 9443 (network policies, firewalls of managed control planes).',
    look: ({ trial, release }) =>
      judged(trial, (found) =>
        found.outcome === 'admitted' || (found.outcome === 'refused' && found.noAnswer)
          ? [
              about(
                release,
                found.outcome === 'admitted'
                  ? 'a pod that opts in is admitted without a sidecar'
                  : `a pod that opts in is refused, since the injector did not answer`,
                `kubectl logs -n ${release.namespace} -l app.kubernetes.io/component=webhook --tail=50`,
              ),
            ]
          : [],
      ),
  },
  {
    code: 'injection-refused',
    severity: 'error',
    when: 'a dry-run pod that opts in, and that nothing is wrong with, is refused by something else: a quota, another policy, another webhook',
    remediation: 'The words say who refused it.',
    look: ({ trial, release }) =>
      judged(trial, (found) =>
        found.outcome === 'refused' && !found.noAnswer
          ? [
              about(
                release,
                `a pod that opts in is refused: ${found.message}`,
                'the words say who refused it',
              ),
            ]
          : [],
      ),
  },
  {
    code: 'canary-failing',
    severity: 'error',
    when: "the operator's canary does not find what it expects in its dry-run pods",
    remediation: 'The message says what was found, and the reason of the condition `CanaryPassing` names it. [The canary](../guide/kubernetes.md#the-canary) has the table of findings.',
    look: ({ canary, release }) =>
      judged(canary, (found) =>
        found?.status === 'False'
          ? [
              about(
                release,
                `the canary does not pass: ${found.message}`,
                `kubectl logs -n ${release.namespace} -l app.kubernetes.io/component=operator --tail=50`,
              ),
            ]
          : [],
      ),
  },
  {
    code: 'guard-missing',
    severity: 'error',
    when: 'the guard is part of the release, and its ValidatingAdmissionPolicy or its binding is not there',
    remediation: 'Repeat `helm upgrade` with the same values; until then an agent can start unguarded.',
    look: ({ guard, helm, release }) =>
      judged(guard, (found) =>
        isMeantOff(helm)
          ? []
          : missingParts(found).map((what) => about(release, what, upgradeCommand(release))),
      ),
  },
  {
    code: 'guard-off',
    severity: 'warning',
    when: 'the chart value `guard.action` is `off` or `warn`, or the binding no longer denies',
    remediation: 'Set `guard.action` to `deny`; else an agent starts unguarded while the injector is away.',
    look: ({ guard, helm, release }) =>
      judged(guard, (found) => {
        const hint = upgradeCommand(release, '--set guard.action=deny');
        if (isMeantOff(helm)) return [about(release, 'the guard is switched off (guard.action)', hint)];
        const weak = found.bindings.filter((actions) => !actions.includes('Deny'));
        return found.bindings.length > 0 && weak.length === found.bindings.length
          ? [about(release, `the guard ${found.name} denies nothing: ${weak.flat().join(', ')}`, hint)]
          : [];
      }),
  },
  {
    code: 'guard-ineffective',
    severity: 'error',
    when: 'a dry-run pod with the annotation `platform.io/inject: "maybe"` is admitted: neither the injector nor the guard refuses it; unknown where something else does, such as a quota',
    remediation: 'Look at the guard, its binding, and the namespaces that both leave out.',
    look: wrongTrialOutcome,
  },
  {
    code: 'certificate-expired',
    severity: 'error',
    when: 'a certificate of the product has ended',
    remediation: 'The webhook renews them: look at its log. Emptying the Secret makes it issue anew.',
    look: ({ certificates, at, release }) =>
      judged(certificates, (all) =>
        all
          .filter(({ notAfter }) => notAfter <= at)
          .map((each) => certificate(each, release, `ended on ${each.notAfter.toISOString().slice(0, 10)}`)),
      ),
  },
  {
    code: 'certificate-not-renewed',
    severity: 'warning',
    when: 'a certificate ends soon, and the webhook should have renewed it long ago',
    remediation: 'Look at the log of the webhook: it renews its own certificate 30 days before the end, an authority a year before.',
    look: ({ certificates, at, release }) =>
      judged(certificates, (all) =>
        all
          .filter(({ notAfter, lateDays }) => {
            const days = (notAfter.getTime() - at.getTime()) / DAY_MS;
            return days > 0 && days < lateDays;
          })
          .map((each) => certificate(each, release, `ends on ${each.notAfter.toISOString().slice(0, 10)}`)),
      ),
  },
];

const DAY_MS = 86_400_000;

function about({ namespace, name }: ReleaseFacts, message: string, hint: string): Problem {
  return { subject: `release ${namespace}/${name}`, message, hint };
}

function certificate({ what }: CertificateFacts, release: ReleaseFacts, ends: string): Problem {
  const hint = `kubectl logs -n ${release.namespace} -l app.kubernetes.io/component=webhook --tail=50`;
  return { subject: what, message: `the ${what} ${ends}`, hint };
}

function trustOutcome({ injector, trusted, release }: InstalledFacts): Outcome {
  const hint = `kubectl logs -n ${release.namespace} -l app.kubernetes.io/component=webhook --tail=50`;
  if (injector.known && injector.value?.hasCa === false)
    return {
      problems: [
        about(
          release,
          `MutatingWebhookConfiguration ${injector.value.name} has no caBundle: the API server believes nobody`,
          hint,
        ),
      ],
      unknown: [],
    };
  return judged(trusted, (isTrusted) =>
    isTrusted === true
      ? []
      : [
          about(
            release,
            isTrusted === null
              ? 'the injector has no certificate yet'
              : 'the certificate of the injector does not lead to the caBundle that the API server believes',
            hint,
          ),
        ],
  );
}

/** What somebody else refuses tells nothing of the two that should. */
function wrongTrialOutcome({ wrongTrial, guard, helm, release }: InstalledFacts): Outcome {
  if (isMeantOff(helm) || isMeantWarn(guard)) return judged(wrongTrial, () => []);
  if (wrongTrial.known && wrongTrial.value.outcome === 'refused' && wrongTrial.value.by === 'other')
    return {
      problems: [],
      unknown: [
        `a pod with platform.io/inject: "maybe" is refused by something else, so nobody knows whether the guard does: ${wrongTrial.value.message}`,
      ],
    };
  return judged(wrongTrial, ({ outcome }) =>
    outcome === 'refused'
      ? []
      : [
          about(
            release,
            'a pod with platform.io/inject: "maybe" is admitted: nothing refuses what is wrong',
            upgradeCommand(release),
          ),
        ],
  );
}

/** By the chart's value; not known without the right to read Secrets, and then it is a finding that nobody meant. */
function isMeantOff(helm: InstalledFacts['helm']): boolean {
  return helm.known && helm.value?.hasGuard === false;
}

function isMeantWarn(guard: InstalledFacts['guard']): boolean {
  return (
    guard.known && guard.value.bindings.length > 0 && guard.value.bindings.every((a) => !a.includes('Deny'))
  );
}

function missingParts({ name, hasPolicy, bindings }: GuardFacts): string[] {
  return [
    ...(hasPolicy ? [] : [`ValidatingAdmissionPolicy ${name} is not there: the guard refuses nothing`]),
    ...(bindings.length > 0
      ? []
      : [`ValidatingAdmissionPolicyBinding ${name} is not there: the guard refuses nothing`]),
  ];
}
