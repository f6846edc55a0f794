import type { ManifestProblem } from '../../core/manifest/manifest.ts';
import { readYamlTree } from '../../core/manifest/yaml-tree.ts';
import { Cursor } from './cursor.ts';

/** Bounds the work for a file that consists of separators. */
const MAX_DOCUMENTS = 100;
/** In YAML, these characters at the start of a line always begin a document. */
const SEPARATOR = /^(?=---(?:\s|$))/m;

export type Documents = { ok: true; documents: Cursor[] } | { ok: false; problems: ManifestProblem[] };

/** Reads the documents of a YAML or JSON text. Documents without content are skipped. */
export function readDocuments(text: string): Documents {
  const parts = text.replace(/^\ufeff/, '').split(SEPARATOR);
  if (parts.length > MAX_DOCUMENTS)
    return {
      ok: false,
      problems: [{ path: '', message: `more than ${MAX_DOCUMENTS} documents`, line: 1, column: 1 }],
    };
  const documents: Cursor[] = [];
  const problems: ManifestProblem[] = [];
  let lines = 0;
  for (const part of parts) {
    const before = lines;
    lines += part.split('\n').length - 1;
    const tree = readYamlTree(part);
    problems.push(...tree.problems.map((each) => ({ ...each, line: each.line + before })));
    if (!tree.ok || (tree.root.value === null && tree.root.source === '')) continue;
    const { root, place } = tree;
    documents.push(
      Cursor.of(root, (offset) => {
        const { line, column } = place(offset);
        return { line: line + before, column };
      }),
    );
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, documents };
}

/** The objects of a document that may describe an agent: those of a Kubernetes List, and the one in a registry's response. */
export function agentsIn(document: Cursor): Cursor[] {
  if (document.peekText('kind').endsWith('List') && Array.isArray(document.peek('items'))) {
    for (const key of ['apiVersion', 'kind', 'metadata']) document.at(key).use();
    return document.at('items').items();
  }
  const isResponse = document.peek('_meta') !== undefined && document.peek('server') !== undefined;
  return [isResponse ? document.at('server') : document];
}
