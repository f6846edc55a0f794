import * as z from 'zod';
import type { Environment } from '../../runtime/env.ts';
import type { Root } from './manifest-files.ts';

/** State of the process and of one call. */
export interface CallContext {
  env: Environment;
  cwd: string;
  now: () => Date;
  /** Manifests are read only below these directories. */
  roots: readonly Root[];
  /** The client cancelled the call, or the process ends. */
  signal: AbortSignal;
}

/** `value`: an object of the tool's output schema; other members are dropped. `reason`: an error for people and models. */
export type Outcome = { ok: true; value: unknown } | { ok: false; reason: string };

/** One row of the table of tools. */
export interface Tool {
  name: string;
  title: string;
  /** What the tool is for and when to call it, for a model. */
  description: string;
  input: z.ZodObject;
  output: z.ZodObject;
  /** Whether a call changes anything; such a tool is listed only with `--allow-writes`. */
  isWrite: boolean;
  /** Whether a call sends requests to another process. */
  isRemote: boolean;
  call: (input: unknown, context: CallContext) => Promise<Outcome>;
}

interface Row<I extends z.ZodObject> extends Omit<Tool, 'input' | 'isWrite' | 'isRemote' | 'call'> {
  input: I;
  isWrite?: true;
  isRemote?: true;
  call: (input: z.output<I>, context: CallContext) => Promise<Outcome>;
}

const OMITTED = z
  .array(z.string())
  .optional()
  .describe('Entries that were left out because the result is too large');

/** A row whose `call` gets its own type of input. */
export function tool<I extends z.ZodObject>({ isWrite, isRemote, ...row }: Row<I>): Tool {
  return {
    ...row,
    output: row.output.extend({ omitted: OMITTED }),
    isWrite: isWrite ?? false,
    isRemote: isRemote ?? false,
    call: (input, context) => row.call(row.input.parse(input), context),
  };
}
