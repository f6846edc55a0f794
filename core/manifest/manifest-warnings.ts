import { headerFormOf, MAX_NAME_LENGTH } from '../behavior/reported-name.ts';
import { DEFAULT_PATHS } from '../facts/facts.ts';
import { a2aAddress } from './a2a-address.ts';
import type { Manifest } from './manifest.ts';
import { referenceOf } from './references.ts';
import { tokenPriceOf } from './token-price.ts';
import { shown } from './wording.ts';

/** Something in a valid manifest that does not work the way its author most likely expects. */
export interface ManifestWarning {
  /** Such as `spec.tools[0].name`. */
  path: string;
  message: string;
}

/** What a valid manifest declares and the product cannot check as it is declared. */
export function manifestWarnings(manifest: Manifest): ManifestWarning[] {
  const names = (manifest.spec.tools ?? []).flatMap(({ name }, index) =>
    nameWarnings(name).map((message) => ({ path: `spec.tools[${index}].name`, message })),
  );
  return [...names, ...costWarnings(manifest), ...endpointWarnings(manifest), ...a2aWarnings(manifest)];
}

function nameWarnings(name: string): string[] {
  if (name.length > MAX_NAME_LENGTH)
    return [
      `${shown(name)} has ${name.length} characters: only the first ${MAX_NAME_LENGTH} are compared with what the agent reports`,
    ];
  const encoded = headerFormOf(name);
  if (encoded === name) return [];
  return [
    `a plain header cannot carry ${shown(name)}: the agent must report it percent-encoded in X-Platform-Tools-Called, as the reporter does (${shown(encoded)})`,
  ];
}

function costWarnings(manifest: Manifest): ManifestWarning[] {
  if (manifest.spec.model.costControls?.maxMonthlyUSD === undefined || tokenPriceOf(manifest) !== undefined)
    return [];
  return [
    {
      path: 'spec.model.costControls.maxMonthlyUSD',
      message:
        'declared, not checked: the cost is not known without usdPerMillionTokens (input and output), so monthly_cost_limit_exceeded cannot deny',
    },
  ];
}

/** The sidecar of a pod sees neither the variables nor the files of the agent. */
function endpointWarnings({ spec: { api } }: Manifest): ManifestWarning[] {
  const endpoints = [
    ['healthEndpoint', DEFAULT_PATHS.health],
    ['capabilitiesEndpoint', DEFAULT_PATHS.capabilities],
  ] as const;
  return endpoints.flatMap(([key, fallback]) => {
    const declared = api?.[key];
    if (declared === undefined || referenceOf(declared) === null) return [];
    const message = `the sidecar of a pod cannot resolve ${shown(declared)}, and probes ${fallback} instead`;
    return [{ path: `spec.api.${key}`, message }];
  });
}

function a2aWarnings({ spec: { api } }: Manifest): ManifestWarning[] {
  const address = api === undefined ? null : a2aAddress(api);
  if (address === null || address.ok) return [];
  return [{ path: 'spec.api.a2a', message: `the capability card offers no interface: ${address.reason}` }];
}
