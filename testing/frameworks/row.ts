/** Location of a program's packages: the repository's node_modules or a separate cache. */
export type Packages = 'none' | 'node' | 'python' | 'evidence';

/**
 * How the tokens of a response form must be recorded. `exact`: every call with usage in the response is counted, and every
 * other call is a call without usage. `unknown`: the response has no usage and is one call without usage.
 */
export type Tokens = 'exact' | 'unknown';

/** One response form of an agent, or one call of a client. */
export interface Form {
  /** Name of the form in the program. */
  name: string;
  tokens: Tokens;
  /** For responses without usage: how to make the agent return or report it. */
  instead?: string;
}

/** One client or framework of the matrix. */
export interface Row {
  name: string;
  packages: Packages;
  /** Packages whose versions the documentation shows. */
  shows: readonly string[];
  /** The agent's program; absent: the vendor itself is the agent. */
  agent?: string;
  /** The client's program; absent: a plain POST. */
  client?: string;
  /** `spec.api.chatEndpoint.path`; absent: the agent has no chat endpoint. */
  chatPath?: string;
  /** `spec.api.type: mcp`. */
  isMcp?: true;
  /** Pattern for the body of chat requests, if the protocol also has other requests. */
  asks?: RegExp;
  forms: readonly Form[];
  /** The form whose client disconnects during the response, and whether the agent then ends its model call. */
  cancels: { form: string; endsModelCall: boolean };
  /** Additional text that differs between runs. */
  random?: readonly RegExp[];
  /** Whether the row runs in `make test`. */
  isFast?: true;
}

/** Class of an exception or error, its HTTP status if any, and its message. */
export interface RaisedError {
  type: string;
  status: number | null;
  message: string;
  /** Member that contains the header with the broken rules; null: none. */
  reasonAt: string | null;
}

/** Result of one form's exchange through the sidecar. */
export interface FormResult {
  name: string;
  /** Model calls of the vendor and their tokens. */
  calls: number;
  used: number;
  /** Tokens and calls without usage that the sidecar recorded. */
  recorded: number;
  callsWithoutUsage: number;
}

/** One row of the documentation. */
export interface RowResult {
  name: string;
  versions: Record<string, string>;
  forms: FormResult[];
  cancel: { form: string; endsModelCall: boolean };
  denial: {
    /** Errors in the client's or framework's code, outermost first. */
    errors: RaisedError[];
    /** Number of requests sent. */
    attempts: number;
  };
}
