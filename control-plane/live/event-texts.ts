import type { FleetEvent } from '../../core/shapes/agent-row.ts';
import { eventOfJson } from '../../runtime/event-stream.ts';

/** The namespaces that a reader sees; null: every namespace. Readers with equal `key` see the same. */
export interface View {
  namespaces: readonly string[] | null;
  key: string;
}

export const viewOf = (namespaces: readonly string[] | null): View => ({
  namespaces,
  key: namespaces === null ? '*' : namespaces.join(' '),
});

/**
 * The texts of one event for readers who see different namespaces. A namespace becomes text once, and readers who see the same share
 * the bytes, also while they are unsent.
 */
export class EventTexts {
  readonly #changed: ReadonlyMap<string, string>;
  readonly #removed: ReadonlyMap<string, string>;
  readonly #bytes = new Map<string, Buffer | null>();

  constructor({ changed, removed }: FleetEvent) {
    this.#changed = textByNamespace(changed);
    this.#removed = textByNamespace(removed);
  }

  /** null: the reader sees nothing of the event. */
  bytesFor(view: View): Buffer | null {
    const known = this.#bytes.get(view.key);
    if (known !== undefined) return known;
    const changed = join(this.#changed, view);
    const removed = join(this.#removed, view);
    const json = `{"changed":[${changed}],"removed":[${removed}]}`;
    const isEmpty = changed === '' && removed === '';
    const bytes = isEmpty ? null : Buffer.from(eventOfJson({ event: 'agents', json }));
    this.#bytes.set(view.key, bytes);
    return bytes;
  }
}

/** The items of each namespace as JSON, separated by commas. */
function textByNamespace(items: readonly { namespace: string }[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string[]>();
  for (const item of items) {
    const ofNamespace = texts.get(item.namespace) ?? [];
    texts.set(item.namespace, ofNamespace);
    ofNamespace.push(JSON.stringify(item));
  }
  return new Map([...texts].map(([namespace, parts]) => [namespace, parts.join(',')]));
}

function join(texts: ReadonlyMap<string, string>, { namespaces }: View): string {
  const wanted =
    namespaces === null ? [...texts.values()] : namespaces.flatMap((each) => texts.get(each) ?? []);
  return wanted.join(',');
}
