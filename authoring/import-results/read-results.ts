import type { ExternalTool as Tool } from '../../core/shapes/values.ts';
import { jsonOf } from '../../core/untrusted/fields.ts';
import { isDeepEval, readDeepEval } from './deepeval.ts';
import { isGarak, readGarak } from './garak.ts';
import { isInspect, readInspect } from './inspect.ts';
import { isPromptfoo, readPromptfoo } from './promptfoo.ts';
import { notRead, type ReadResults } from './results.ts';
import { isSarif, readSarif } from './sarif.ts';

interface Form {
  is: (value: unknown) => boolean;
  read: (value: unknown) => ReadResults;
}

/** The tools that write one JSON document. garak writes lines. */
const DOCUMENTS: Readonly<Record<Exclude<Tool, 'garak'>, Form>> = {
  promptfoo: { is: isPromptfoo, read: readPromptfoo },
  inspect: { is: isInspect, read: readInspect },
  deepeval: { is: isDeepEval, read: readDeepEval },
  sarif: { is: isSarif, read: readSarif },
};

/** Reads the results of a test tool. @param from the tool; undefined: the form of the file decides */
export function readResults(content: string, from: Tool | undefined): ReadResults & { form?: Tool } {
  const text = content.replace(/^\ufeff/, '');
  const document = jsonOf(text);
  const isLines = isGarak(document) || isGarak(jsonOf(text.split('\n', 1)[0] ?? ''));
  if (from === 'garak' || (from === undefined && isLines)) return { ...readGarak(text), form: 'garak' };
  if (document === undefined) return notRead('the file is not a complete JSON document');
  for (const [form, { is, read }] of Object.entries(DOCUMENTS) as [Exclude<Tool, 'garak'>, Form][])
    if (from === undefined ? is(document) : form === from) return { ...read(document), form };
  return notRead('no known form: it is not a result of promptfoo, garak, inspect, deepeval, or SARIF');
}
