import * as anthropic from './anthropic.ts';
import * as azure from './azure.ts';
import * as bedrock from './bedrock.ts';
import * as cohere from './cohere.ts';
import * as deepseek from './deepseek.ts';
import * as google from './google.ts';
import * as groq from './groq.ts';
import * as mistral from './mistral.ts';
import * as ollama from './ollama.ts';
import { openAiLike } from './openai-like.ts';
import * as openai from './openai.ts';
import * as openrouter from './openrouter.ts';
import * as together from './together.ts';
import type { ModelApi, Vendor, VendorCode, VendorPrices } from './vendor.ts';
import * as vertex from './vertex.ts';
import * as xai from './xai.ts';

/** The vendors of models by the provider in a manifest. The order is that of the documents. */
export const VENDORS = {
  openai: openai.vendor,
  anthropic: anthropic.vendor,
  google: google.vendor,
  vertex: vertex.vendor,
  azure: azure.vendor,
  bedrock: bedrock.vendor,
  groq: groq.vendor,
  mistral: mistral.vendor,
  cohere: cohere.vendor,
  ollama: ollama.vendor,
  deepseek: deepseek.vendor,
  xai: xai.vendor,
  together: together.vendor,
  openrouter: openrouter.vendor,
} as const;

export type VendorName = keyof typeof VENDORS;

/** How code shows each vendor. A table of its own, as the next ones: only the bundles that read it contain it. */
export const VENDOR_CODE: Readonly<Record<VendorName, VendorCode>> = {
  openai: openai.code,
  anthropic: anthropic.code,
  google: google.code,
  vertex: vertex.code,
  azure: azure.code,
  bedrock: bedrock.code,
  groq: groq.code,
  mistral: mistral.code,
  cohere: cohere.code,
  ollama: ollama.code,
  deepseek: deepseek.code,
  xai: xai.code,
  together: together.code,
  openrouter: openrouter.code,
};

/** The prices of the vendors whose price does not depend on the host of the model. */
export const VENDOR_PRICES: readonly VendorPrices[] = [
  openai.prices,
  anthropic.prices,
  google.prices,
  mistral.prices,
  cohere.prices,
  xai.prices,
];

/** What the lanes of vendors with an API of their own do not read. */
export const VENDOR_UNREAD = {
  azure: azure.unread,
  anthropic: anthropic.unread,
  gemini: google.unread,
  vertex: vertex.unread,
  cohere: cohere.unread,
  ollama: ollama.unread,
} as const;

/** The name of the vendor of a declared provider, which may be an alias. An unknown provider is its own name in lower case. */
export function vendorNameOf(provider: string): string {
  const folded = provider.trim().toLowerCase();
  const byAlias = Object.entries<Vendor>(VENDORS).find(([, { aliases }]) => aliases.includes(folded));
  return byAlias?.[0] ?? folded;
}

const BY_HOST: ReadonlyMap<string, string> = new Map(
  Object.entries<Vendor>(VENDORS).flatMap(([name, { api, lane }]) =>
    [api?.baseUrl, lane?.upstream].flatMap((url) => (url ? [[new URL(url).host, name] as const] : [])),
  ),
);

/** The vendor with this public address; null: it is the address of a gateway, or of a customer's own resource. */
export const vendorAt = ({ host }: URL): string | null => BY_HOST.get(host.replace(/\.(?=:|$)/, '')) ?? null;

/**
 * The API of a declared provider, and the variable that replaces its base URL. `client`: a variable that counts without it. An unknown
 * vendor is like OpenAI.
 */
export function modelVendorOf(provider: string): {
  vendor: ModelApi;
  variable: string;
  client?: { name: string; path: string };
} {
  const name = vendorNameOf(provider);
  const known: Vendor | undefined = Object.hasOwn(VENDORS, name) ? VENDORS[name as VendorName] : undefined;
  const variable = known?.variable ?? `${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_BASE_URL`;
  return { vendor: known?.api ?? openAiLike(null), variable, ...(known?.client && { client: known.client }) };
}
