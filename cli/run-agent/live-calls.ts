import {
  declaredEgressOf,
  isDeclaredModel,
  isDeclaredTool,
  listedTools,
  MCP_LANE,
  mcpToolsIn,
  type DeclaredEgress,
} from '../../core/egress/declared.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { callLine } from '../egress/call-text.ts';
import { parseCalls, type ShownCall } from '../egress/reports.ts';
import { printable } from '../rendered.ts';
import { requestJson } from '../sidecar-request.ts';
import type { Paint } from '../table.ts';
import { poll } from './last-report.ts';

const INTERVAL_MS = 250;
/** Calls that one request returns. */
const LIMIT = 1_000;
/** Calls that are kept for the end of the run. */
const MAX_KEPT = 10_000;

export interface LiveCallsOptions {
  /** URL of the control port. */
  control: URL;
  /** null: nothing is declared yet, so no call is denied and no name is undeclared. */
  manifest: Manifest | null;
  print: (line: string) => void;
  paint: Paint;
}

/** Prints denied calls, and each model and tool when it is seen for the first time, while an agent runs. */
export class LiveCalls {
  readonly #options: LiveCallsOptions;
  readonly #declared: DeclaredEgress | null;
  readonly #ended = new AbortController();
  readonly #polling: Promise<void>;
  readonly #seen = new Set<string>();
  #calls: ShownCall[] = [];
  #lastId = 0;

  constructor(options: LiveCallsOptions) {
    this.#options = options;
    const { manifest } = options;
    this.#declared = manifest === null ? null : declaredEgressOf(manifest);
    const times = { firstMs: INTERVAL_MS, maxMs: INTERVAL_MS };
    this.#polling = poll(this.#ended.signal, () => this.#read(), times);
  }

  /** The calls until the end of the agent, the newest ten thousand. Rejects with a SidecarFailure. */
  async finish(): Promise<readonly ShownCall[]> {
    this.#ended.abort();
    await this.#polling;
    await this.#read();
    return this.#calls;
  }

  async #read(): Promise<void> {
    const calls = await requestJson(this.#options.control, `/egress?limit=${LIMIT}`, parseCalls);
    const added = calls.filter(({ id }) => id > this.#lastId);
    this.#lastId = added.at(-1)?.id ?? this.#lastId;
    this.#calls = [...this.#calls, ...added].slice(-MAX_KEPT);
    for (const call of added) this.#show(call);
  }

  #show(call: ShownCall): void {
    const { print, paint } = this.#options;
    const declared = this.#declared;
    const first = (kind: string, name: string, isDeclared: () => boolean): void => {
      if (!this.#isNew(`${kind} ${name}`)) return;
      const note = isDeclared() ? '' : paint('red', ' - not declared');
      print(`first call with ${kind} ${printable(name)}${note}`);
    };
    if (call.model !== null)
      first('model', call.model, () => declared === null || isDeclaredModel(declared, call.model ?? ''));
    // The tools on the lane of an MCP server are declared with the server.
    const isServer = call.lane.startsWith(MCP_LANE);
    const isDeclared = (name: string): boolean =>
      declared === null ||
      isServer ||
      isDeclaredTool(declared, name, mcpToolsIn(declared, [name], listedTools(this.#calls)));
    for (const name of toolsOf(call)) first('tool', name, () => isDeclared(name));
    if (declared === null || call.violations.length === 0) return;
    // Without enforcement the same violation may be in every call.
    if (call.blocked || this.#isNew(`violation ${call.violations.join()}`))
      print(callLine(call, paint).trimEnd());
  }

  #isNew(key: string): boolean {
    const isNew = !this.#seen.has(key);
    this.#seen.add(key);
    return isNew;
  }
}

/** The tools of a call, each once. */
export const toolsOf = ({ toolsOffered, toolsCalled, toolsExecuted }: ShownCall): Set<string> =>
  new Set([...toolsOffered, ...toolsCalled, ...toolsExecuted]);
