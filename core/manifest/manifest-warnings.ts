import type { FieldError } from '../untrusted/fields.ts';
import { headerFormOf, MAX_NAME_LENGTH } from '../untrusted/reported-name.ts';
import { a2aAddress } from './a2a-address.ts';
import { literalSecrets } from './literal-secrets.ts';
import { type Manifest, DEFAULT_PATHS } from './manifest.ts';
import { referenceOf } from './references.ts';
import { tokenAuthOf } from './token-auth.ts';
import { tokenPriceOf } from './token-price.ts';
import { quoted } from './wording.ts';

/** A declaration in a valid manifest that does not have the effect its author probably expects, or a secret in the file. */
interface ManifestWarning extends FieldError {}

/** Declarations of a valid manifest that cannot be checked as declared, and secrets in it. */
export function manifestWarnings(manifest: Manifest): ManifestWarning[] {
  const names = (manifest.spec.tools ?? []).flatMap(({ name }, index) =>
    nameWarnings(name).map((message) => ({ path: `spec.tools[${index}].name`, message })),
  );
  return [
    ...names,
    ...secretWarnings(manifest),
    ...costWarnings(manifest),
    ...endpointWarnings(manifest),
    ...a2aWarnings(manifest),
    ...authWarnings(manifest),
  ];
}

function nameWarnings(name: string): string[] {
  if (name.length > MAX_NAME_LENGTH)
    return [
      `${quoted(name)} has ${name.length} characters; only the first ${MAX_NAME_LENGTH} are compared with the names that the agent reports`,
    ];
  const encoded = headerFormOf(name);
  if (encoded === name) return [];
  return [
    `${quoted(name)} cannot be sent unencoded in a header; the agent must percent-encode it in X-Platform-Tools-Called as ${quoted(encoded)} (the reporter does this)`,
  ];
}

/** The secrets that are written into a manifest, which need not be valid. */
export function secretWarnings(manifest: unknown): ManifestWarning[] {
  const message =
    'a secret is written into the manifest; replace it by a reference, such as $env:VAR or $secret:name, and revoke it';
  return literalSecrets(manifest).map((path) => ({ path, message }));
}

function costWarnings(manifest: Manifest): ManifestWarning[] {
  if (manifest.spec.model.costControls?.maxMonthlyUSD === undefined || tokenPriceOf(manifest) !== undefined)
    return [];
  return [
    {
      path: 'spec.model.costControls.maxMonthlyUSD',
      message:
        'declared, not checked: without usdPerMillionTokens (input and output) the cost is unknown, and monthly_cost_limit_exceeded never denies',
    },
  ];
}

/** A sidecar in a pod cannot read the agent's environment variables or files. */
function endpointWarnings({ spec: { api } }: Manifest): ManifestWarning[] {
  const endpoints = [
    ['healthEndpoint', DEFAULT_PATHS.health],
    ['capabilitiesEndpoint', DEFAULT_PATHS.capabilities],
  ] as const;
  return endpoints.flatMap(([key, fallback]) => {
    const declared = api?.[key];
    if (declared === undefined || referenceOf(declared) === null) return [];
    const message = `a sidecar in a pod cannot resolve ${quoted(declared)} and probes ${fallback} instead`;
    return [{ path: `spec.api.${key}`, message }];
  });
}

function a2aWarnings({ spec: { api } }: Manifest): ManifestWarning[] {
  const address = api === undefined ? null : a2aAddress(api);
  if (address === null || address.ok) return [];
  return [{ path: 'spec.api.a2a', message: `the capability card lists no A2A interface: ${address.reason}` }];
}

function authWarnings(manifest: Manifest): ManifestWarning[] {
  const { missing } = tokenAuthOf(manifest);
  if (missing.length === 0) return [];
  const message = `the sidecar does not read tokens; it requires jwksUri, issuer and audience without references, and ${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} missing`;
  return [{ path: 'spec.api.auth', message }];
}
