/** The checked code of one function body, or why it is not used. */
export type Body = { ok: true; code: string } | { ok: false; reason: string };

export const unusable = (reason: string): Body => ({ ok: false, reason });

const MAX_LENGTH = 8000;
/** Some interpreters reset the indentation at a form feed, so that a line could leave its function. */
const CONTROL = /(?!\n)[\p{Cc}\p{Zl}\p{Zp}\ufeff]/u;
/** Characters that change the order in which an editor shows the code. */
const BIDIRECTIONAL = /\p{Bidi_Control}/u;
const FENCED = /^\s*```[\w-]*\n([^]*?)\n?```\s*$/;

/** The body of a model without a code fence and without common indentation. */
export function bodyText(text: string): Body {
  if (text.length > MAX_LENGTH) return unusable(`the code has more than ${MAX_LENGTH} characters`);
  const unified = text.toWellFormed().replaceAll(/\r\n?/g, '\n').replaceAll('\t', '    ');
  if (CONTROL.test(unified)) return unusable('the code contains control characters');
  if (BIDIRECTIONAL.test(unified)) return unusable('the code contains characters that change its direction');
  const code = withoutIndentation(FENCED.exec(unified)?.[1] ?? unified);
  return code === '' ? unusable('the code is empty') : { ok: true, code };
}

function withoutIndentation(text: string): string {
  const lines = text.split('\n').map((line) => line.trimEnd());
  const widths = lines.filter((line) => line !== '').map((line) => line.length - line.trimStart().length);
  const common = Math.min(...widths, MAX_LENGTH);
  return lines
    .map((line) => line.slice(common))
    .join('\n')
    .replaceAll(/^\n+|\n+$/g, '');
}

/** The body of a function, one level deep. */
export function indented(code: string, by: string): string {
  return code.replaceAll(/^(?=.)/gm, by);
}
