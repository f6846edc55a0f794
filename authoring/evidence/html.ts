/** A part of a page whose texts are escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | null | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text for an element or an attribute in quotes. Control characters and changes of the text direction are replaced. */
const escaped = (text: string): string =>
  text
    .replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
    // oxlint-disable-next-line no-control-regex -- this replaces control characters
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');

function written(part: Part): string {
  if (part === null) return '';
  if (part instanceof Html) return part.text;
  return typeof part === 'object' ? part.map(written).join('') : escaped(String(part));
}

/** HTML with escaped values. null is nothing, and a list is its entries one after the other. */
export function html(texts: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(texts.reduce((page, text, index) => page + written(parts[index - 1] ?? null) + text));
}

/** A table; a row is a list of cells. Without rows it is a paragraph with the text `none`. */
export function table(head: readonly string[], rows: readonly (readonly Part[])[], none: string): Html {
  if (rows.length === 0) return html`<p class="none">${none}</p>`;
  return html`<table>
    <thead>
      <tr>
        ${head.map((cell) => html`<th scope="col">${cell}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (row) =>
          html`<tr>
            ${row.map((cell) => html`<td>${cell}</td>`)}
          </tr> `,
      )}
    </tbody>
  </table> `;
}

/** Most rows of a list; the rest is in evidence.json. */
const MOST_ROWS = 40;

export const first = <T>(all: readonly T[]): readonly T[] => all.slice(0, MOST_ROWS);

/** How many rows `first` left out. */
export const more = (all: readonly unknown[]): Html | null =>
  all.length > MOST_ROWS
    ? html`<p class="none">${all.length - MOST_ROWS} more rows are in evidence.json.</p>`
    : null;

/** A time as text; null: not known. */
export const time = (at: string | null): string =>
  at === null ? 'not known' : at.replace('T', ' ').replace(/:\d\d(\.\d+)?Z$/, ' UTC');

export const digest = (text: string | null): Html =>
  text === null ? html`not known` : html`<code>${text}</code>`;
