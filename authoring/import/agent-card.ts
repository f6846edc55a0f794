import type { Api } from '../../core/manifest/manifest.ts';
import { FORMATS } from '../../core/manifest/schema-node.ts';
import { present } from '../../core/untrusted/present.ts';
import { skillsOf } from './a2a-skills.ts';
import type { Cursor } from './cursor.ts';
import type { SourceKind } from './source-kind.ts';

const SEMVER = new RegExp(FORMATS.semver.pattern);
const HTTP_URL = new RegExp(FORMATS.httpUrl.pattern);

/** A card of A2A 1.0 has `supportedInterfaces`; one of 0.3 has `url`. */
export const agentCard: SourceKind = {
  name: 'an A2A agent card (0.3 or 1.0)',
  matches: (document) =>
    document.peek('apiVersion') === undefined &&
    (document.peek('supportedInterfaces') !== undefined ||
      (document.peek('url') !== undefined &&
        (document.peek('skills') !== undefined || document.peek('capabilities') !== undefined))),
  convert: (card) => ({
    name: card.at('name').text(),
    version: card.at('version').text(SEMVER),
    description: card.at('description').text(),
    author: card.at('provider', 'organization').text(),
    spec: present({ api: apiOf(card), skills: skillsOf(card.at('skills').items()) }),
  }),
};

function apiOf(card: Cursor): Api | undefined {
  const api: Api = {
    ...interfaceOf(card),
    ...present({ auth: authOf(card), streaming: card.at('capabilities', 'streaming').flag() }),
  };
  return Object.keys(api).length === 0 ? undefined : api;
}

/** One way to call the agent. */
interface Offer {
  url: Cursor;
  binding: Cursor;
  version: Cursor;
}

/** In the order of preference. */
function offersOf(card: Cursor): Offer[] {
  if (card.peek('supportedInterfaces') !== undefined)
    return card
      .at('supportedInterfaces')
      .items()
      .map((each) => ({
        url: each.at('url'),
        binding: each.at('protocolBinding'),
        version: each.at('protocolVersion'),
      }));
  const version = card.at('protocolVersion');
  const others = card
    .at('additionalInterfaces')
    .items()
    .map((each) => ({ url: each.at('url'), binding: each.at('transport'), version }));
  return [{ url: card.at('url'), binding: card.at('preferredTransport'), version }, ...others];
}

/** The first interface that a manifest can declare; gRPC and older versions of A2A have no place in it. */
function interfaceOf(card: Cursor): Pick<Api, 'url' | 'a2a'> {
  for (const { url, binding, version } of offersOf(card)) {
    const protocolBinding = BINDINGS.find((each) => each === (binding.peek() ?? 'JSONRPC'));
    const protocolVersion = VERSIONS.find((each) => `${version.peekText()}.`.startsWith(`${each}.`));
    const address =
      protocolBinding === undefined || protocolVersion === undefined ? undefined : url.text(HTTP_URL);
    if (protocolBinding === undefined || address === undefined) continue;
    binding.use();
    version.use();
    return { url: address, a2a: { protocolBinding, ...present({ protocolVersion }) } };
  }
  return {};
}

const BINDINGS = ['JSONRPC', 'HTTP+JSON'] as const;
const VERSIONS = ['1.0', '0.3'] as const;

type Auth = NonNullable<Api['auth']>;

/** Kinds of security schemes: their member in a card of 1.0, their `type` in a card of 0.3, and what a manifest has for them. */
const SCHEMES: readonly {
  member: string;
  type: string;
  convert: (scheme: Cursor) => Auth | undefined;
}[] = [
  { member: 'apiKeySecurityScheme', type: 'apiKey', convert: apiKeyOf },
  { member: 'httpAuthSecurityScheme', type: 'http', convert: bearerOf },
  { member: 'oauth2SecurityScheme', type: 'oauth2', convert: () => ({ type: 'oauth2' }) },
  { member: 'openIdConnectSecurityScheme', type: 'openIdConnect', convert: () => ({ type: 'oauth2' }) },
];

/** The first scheme that a manifest can declare. */
function authOf(card: Cursor): Auth | undefined {
  for (const scheme of card.at('securitySchemes').members())
    for (const { member, type, convert } of SCHEMES) {
      const isOld = scheme.peek('type') === type;
      if (!isOld && scheme.peek(member) === undefined) continue;
      const auth = convert(isOld ? scheme : scheme.at(member));
      if (auth === undefined) continue;
      if (isOld) scheme.at('type').use();
      return auth;
    }
  return undefined;
}

function apiKeyOf(scheme: Cursor): Auth | undefined {
  const place = ['location', 'in'].find((key) => scheme.peek(key) === 'header');
  const header = place === undefined ? undefined : scheme.at('name').text();
  if (place === undefined || header === undefined) return undefined;
  scheme.at(place).use();
  return { type: 'apikey', header };
}

function bearerOf(scheme: Cursor): Auth | undefined {
  if (scheme.peekText('scheme').toLowerCase() !== 'bearer') return undefined;
  const isJwt = scheme.peekText('bearerFormat').toUpperCase() === 'JWT';
  for (const key of ['scheme', 'bearerFormat']) scheme.at(key).use();
  return { type: isJwt ? 'jwt' : 'apikey', header: 'Authorization' };
}
