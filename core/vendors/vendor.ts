/** The protocols of models. `core/egress/wires` has a reader for each. */
export type WireName = 'chat' | 'responses' | 'embeddings' | 'anthropic' | 'gemini' | 'cohere' | 'ollama';

/** The form of errors that the clients of a vendor understand. */
export type ErrorFamily = 'openai' | 'anthropic' | 'gemini' | 'cohere' | 'ollama';

/** A vendor of models: what all processes may need. `vendors.ts` is the table. */
export interface Vendor {
  /** Other common names of the vendor in manifests. */
  aliases: readonly string[];
  /** Variables of the API key that the vendor's libraries read, the common one first; empty: there is no key. */
  keys: readonly string[];
  /** null: the address is not known, and the key is not checked. */
  api: ModelApi | null;
  /** The variable that replaces the base URL; absent: `<NAME>_BASE_URL`. */
  variable?: string;
  /** A variable of the vendor's own clients that counts without it, and what follows its value in the base URL. */
  client?: { name: string; path: string };
  /** Absent: the vendor has no lane of its own. */
  lane?: VendorLane;
}

/** Addresses of a vendor's API. Generated projects get them as JSON. */
export interface ModelApi {
  /** null: the address differs between customers. */
  baseUrl: string | null;
  /** The cheapest GET that requires the key, appended to the base URL. */
  checkPath: string;
  /** The header that contains the key; `authorization` as bearer token. */
  keyHeader: 'authorization' | 'x-api-key' | 'x-goog-api-key' | 'api-key';
  /** Other headers of the check. */
  headers: Readonly<Record<string, string>>;
  /** Statuses in addition to 401 and 403 that mean a rejected key. */
  rejected: readonly number[];
  /** The API that is compatible with OpenAI's chat completions, appended to the base URL; null: none at that address. */
  openAiPath: string | null;
}

/** How clients of one vendor are sent to its lane, and what the lane reads there. */
export interface VendorLane {
  id: string;
  errors: ErrorFamily;
  /** The vendor's public address; null: it depends on the customer's resource or region. */
  upstream: string | null;
  /** The ends of base URLs that belong to the vendor's API and not to a gateway in front of it. */
  endings: readonly string[];
  variables: readonly LaneVariable[];
  /** The port of a value without a scheme, such as `ollama:11434`; absent: a value needs a scheme. */
  bareHostPort?: number;
  prefix: PathPrefix;
  /** The paths that the lane reads; the first that matches decides. */
  routes: readonly WireRoute[];
  /** The vendor whose models this lane serves, too. */
  alsoOf?: string;
  /** Models of other vendors can be called through the lane. */
  isGateway?: true;
  /** `not-accepted`: the vendor refuses the option of a stream that requests its usage; `since`: up to this `api-version`. */
  usageOption?: 'not-accepted' | { since: string };
}

/** A variable of the environment in which clients of a vendor look up its address. */
export interface LaneVariable {
  name: string;
  /** What follows the lane's own address in a variable that the injector adds; null: never added, only rewritten. */
  added: string | null;
  /** Not added to an agent that may use Azure: a client for Azure prefers this variable, and would send its key to this lane. */
  isWrongWithAzure?: true;
}

/**
 * The part of a path before the resource. Clients disagree about whether it belongs to the base URL, so a lane accepts a path with and
 * without it.
 */
export interface PathPrefix {
  /** The part as a regular expression. */
  pattern: string;
  /** The part that the vendor requires. */
  canonical: string;
  /** Resources for which the part is added if a client omits it. */
  resources: RegExp;
  /** The part is always written as the vendor requires it. */
  isExact?: true;
}

/** The protocol of a path at the upstream, without query and without the upstream's own path. */
export interface WireRoute {
  /** The groups `model` and `stream` are optional. */
  path: RegExp;
  wire: WireName;
}

/** List prices of models in US dollars per million tokens. */
export type VendorPrices = Readonly<
  Record<string, readonly [input: number, output: number, cachedInput?: number, cacheWrite?: number]>
>;

/** How source code shows the vendor. Only the CLI reads it. */
export interface VendorCode {
  /** More names of the vendor in front of model ids and in names of packages. */
  names?: readonly string[];
  /** Part of the address of the API; absent: the host of the base URL. */
  host?: RegExp;
  /** Names of models that only this vendor has. */
  models?: RegExp;
  /** The model of a new manifest. */
  firstModel?: string;
  /** Client libraries. */
  libraries?: readonly { name: string; language: 'any' | 'python' | 'javascript'; imports: RegExp }[];
  /** Methods of clients that call a model: alternatives of modules and of paths, as regular expressions. */
  methods?: readonly { modules: string; path: string }[];
  /** Constructors with a model. `ids`: options of the model that are not the usual ones. */
  constructors?: readonly {
    language: 'python' | 'javascript';
    name: RegExp;
    ids?: readonly (string | number)[];
  }[];
  /** The class of LangChain, as a regular expression. */
  langchain?: string;
}

/** Routes of the vendor that its lane knows and does not read. Only documents contain them. */
export interface UnreadVendorRoutes {
  what: string;
  /** Method and path; placeholders are in braces. */
  routes: readonly string[];
}
