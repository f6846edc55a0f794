/**
 * The script of the worker thread of ManifestWorker: what the author of a manifest can make expensive. It is a bundle of its own, because
 * CEL is larger than the processes that seldom need it.
 */
import { parentPort } from 'node:worker_threads';
import { celEnv, isCelError, parse, plan, type CelInput } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { judge, type ExpressionResult } from '../../core/organisation/judge.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { isRecord } from '../../core/untrusted/fields.ts';
import type { Job, Started } from '../manifest-worker.ts';

const MAX_ERROR = 200;

const ENVIRONMENT = celEnv({ funcs: strings });

/** CEL has integers and doubles; a number of JavaScript is a double. */
function celInput(value: unknown): CelInput {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(celInput);
  if (!isRecord(value)) return value as CelInput;
  return new Map(Object.entries(value).map(([key, each]) => [key, celInput(each)]));
}

function evaluate(expression: string, variables: Record<string, unknown>): ExpressionResult {
  try {
    const bindings = Object.fromEntries(
      Object.entries(variables).map(([name, value]) => [name, celInput(value)]),
    );
    const result = plan(ENVIRONMENT, parse(expression))(bindings);
    if (typeof result === 'boolean') return result;
    return { error: isCelError(result) ? result.message : 'the result is not true or false' };
  } catch (error) {
    return { error: (error as Error).message.slice(0, MAX_ERROR) };
  }
}

function syntaxError(expression: string): string | null {
  try {
    plan(ENVIRONMENT, parse(expression));
    return null;
  } catch (error) {
    return (error as Error).message.slice(0, MAX_ERROR);
  }
}

function resultOf(job: Job): unknown {
  switch (job.kind) {
    case 'parse':
      return parseManifest(job.text);
    case 'judge':
      return judge(...job.of);
    case 'syntax':
      return syntaxError(job.expression);
    case 'expression':
      return evaluate(job.expression, job.variables);
  }
}

parentPort?.postMessage({ isStarted: true } satisfies Started);
parentPort?.on('message', (job: Job) => parentPort?.postMessage(resultOf(job)));
