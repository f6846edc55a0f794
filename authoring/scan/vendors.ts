import type { Vendor } from '../../core/vendors/vendor.ts';
import { VENDOR_CODE, VENDORS, type VendorName } from '../../core/vendors/vendors.ts';
import type { Setting } from './code.ts';

/** A vendor of `core/vendors/vendors.ts` as code shows it. */
interface VendorInCode {
  /** Value of `provider` in a manifest. */
  provider: string;
  /** The provider and its other names, in front of model ids and in names of packages. */
  names: readonly string[];
  keys: readonly string[];
  host: RegExp | null;
  models: RegExp | null;
}

const IN_CODE = Object.entries<Vendor>(VENDORS).map(([provider, { aliases, keys, api }]): VendorInCode => {
  const { names = [], host, models = null } = VENDOR_CODE[provider as VendorName];
  return {
    ...{ provider, keys, models },
    names: [provider, ...aliases, ...names],
    host: host ?? (api?.baseUrl ? atOrigin(new URL(api.baseUrl)) : null),
  };
});

/** Addresses of this origin. */
function atOrigin({ origin }: URL): RegExp {
  return new RegExp(`^${origin.replaceAll('.', '\\.')}\\b`);
}

const BY_NAME: ReadonlyMap<string, VendorInCode> = new Map(
  IN_CODE.flatMap((vendor) => vendor.names.map((name) => [name, vendor] as const)),
);

/** The names of all vendors as alternatives of a regular expression. A name that begins with another one is before it. */
export const VENDOR_NAMES: string = [...BY_NAME.keys()].toSorted().toReversed().join('|');

/** Splits `openai:gpt-4o` and `openai/gpt-4o`, and derives the vendor from the name of a model that only one vendor has. */
export function splitModel(text: string | null): { provider: string | null; id: string | null } {
  if (text === null) return { provider: null, id: null };
  const [, prefix = '', rest = ''] = /^([\w-]+)[:/](.+)$/.exec(text) ?? [];
  const named = BY_NAME.get(prefix.toLowerCase());
  if (named !== undefined) return { provider: named.provider, id: rest };
  return { provider: IN_CODE.find(({ models }) => models?.test(text))?.provider ?? null, id: text };
}

/** The vendor whose API has an address; null: the address is not known. */
export function providerAtUrl({ text }: Setting): string | null {
  if (text === null) return null;
  return IN_CODE.find(({ host }) => host?.test(text))?.provider ?? null;
}

/** Variables of the API key that the libraries of a vendor read; null: the vendor is not known. */
export const keyVariables = (provider: string): readonly string[] | null =>
  BY_NAME.get(provider)?.keys ?? null;
