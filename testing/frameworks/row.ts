/** Where the packages of a program are: in the repository's own node_modules, or in a cache of their own. */
export type Packages = 'none' | 'node' | 'python';

/**
 * How the tokens of one form of answer must be recorded. `exact`: every call that the response states is counted, and every
 * other one is a call without usage. `unknown`: the response states no tokens, and is one call without usage.
 */
export type Tokens = 'exact' | 'unknown';

/** One form in which an agent answers, or one call of a client. */
export interface Form {
  /** What the program takes. */
  name: string;
  tokens: Tokens;
  /** Where it states no tokens: what makes the agent state or report them. */
  instead?: string;
}

/** One client or framework of the matrix. */
export interface Row {
  name: string;
  packages: Packages;
  /** Packages whose versions the documentation shows. */
  shows: readonly string[];
  /** The agent's program; none: the vendor itself is the agent. */
  agent?: string;
  /** The client's program; none: a plain POST. */
  client?: string;
  /** `spec.api.chatEndpoint.path`; none: the agent has no chat endpoint. */
  chatPath?: string;
  /** `spec.api.type: mcp`. */
  isMcp?: true;
  /** Body of the request that asks the agent, where the protocol has others as well. */
  asks?: RegExp;
  forms: readonly Form[];
  /** The form whose client leaves in the middle, and whether the agent then ends its call of the model. */
  cancels: { form: string; endsModelCall: boolean };
  /** Further text that no two runs have in common. */
  random?: readonly RegExp[];
  /** One of those in `make test`. */
  isFast?: true;
}

/** A class of an exception or error, its HTTP status where it has one, and its message. */
export interface RaisedError {
  type: string;
  status: number | null;
  message: string;
  /** Its member that has the header with the broken rules; null: it has none. */
  reasonAt: string | null;
}

/** What one form's exchange through the sidecar showed. */
export interface FormResult {
  name: string;
  tokens: Tokens;
  /** Calls of the model and their tokens; `stated`: in the vendor's own responses. */
  vendor: { calls: number; tokens: number; stated: { calls: number; tokens: number } };
  recorded: { calls: number; tokens: number; callsWithoutUsage: number };
}

/** One row of the documentation. */
export interface RowResult {
  name: string;
  versions: Record<string, string>;
  forms: FormResult[];
  cancel: { form: string; endsModelCall: boolean };
  denial: {
    /** What the client's or framework's code gets, the outermost error first. */
    errors: RaisedError[];
    /** Requests that it sent. */
    attempts: number;
  };
}
