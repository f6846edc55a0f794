/**
 * A lexer for Python and for JavaScript with TypeScript. It separates code, strings and comments, and nothing more: the scan looks for
 * known calls and never runs or checks a program. Any text gives tokens in linear time, also if it is not valid code.
 */
export type Language = 'python' | 'javascript';

export interface Token {
  /**
   * `string` has no interpolated code; the text of a `template` ends at its first interpolation. The tokens of the interpolated
   * code follow the template between `${` and `}`.
   */
  kind: 'name' | 'number' | 'string' | 'template' | 'regex' | 'punctuation';
  /** Value of a string, source of every other token. */
  text: string;
  /** Offsets in the file. */
  start: number;
  end: number;
}

interface Quote {
  delimiter: string;
  isRaw: boolean;
  /** What begins interpolated code; null: the string has none. */
  interpolation: '${' | '{' | null;
}

const SPACE = /[\s\ufeff]+|\\\r?\n/y;
const PYTHON_COMMENT = /#[^\n]*/y;
const SCRIPT_COMMENT = /\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)|^#![^\n]*/y;
const PYTHON_QUOTE = /([rbuft]{0,2})("""|'''|"|')/iy;
const SCRIPT_QUOTE = /()(["'`])/y;
const NAME = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const NUMBER = /0[xob][\da-f_]+|(?:\d[\d_]*)?\.?\d[\d_]*(?:e[+-]?\d+)?/iy;
/** A regular expression on one line. The limits keep the search linear. */
const REGEX = /\/(?![*/])(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,500}\]){1,500}\/[a-z]*/y;
const OPERATOR = /=>|\?\?=?|\|\|=?|&&=?|[=!]==?|[<>]=|\?\.(?!\d)|\.\.\.|->|:=|[-+*/%&|^]=|\*\*|[^]/y;
/** Words after which `/` begins a regular expression. */
const BEFORE_REGEX = /^(?:return|typeof|case|in|of|delete|void|throw|new|else|do|await|yield)$/;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\n': '' };

export function tokensOf(text: string, language: Language): Token[] {
  return new Lexer(text, language).run();
}

class Lexer {
  readonly #text: string;
  readonly #isPython: boolean;
  readonly #tokens: Token[] = [];
  /** Strings whose interpolated code is being read, with the number of open braces at their start. */
  readonly #frames: { quote: Quote; braces: number }[] = [];
  #braces = 0;
  #at = 0;

  constructor(text: string, language: Language) {
    this.#text = text;
    this.#isPython = language === 'python';
  }

  run(): Token[] {
    while (this.#at < this.#text.length) {
      if (this.#take(SPACE) !== null) continue;
      if (this.#take(this.#isPython ? PYTHON_COMMENT : SCRIPT_COMMENT) !== null) continue;
      if (this.#string()) continue;
      if (this.#allowsRegex() && this.#push('regex', REGEX)) continue;
      if (this.#push('name', NAME) || this.#push('number', NUMBER)) continue;
      this.#punctuation();
    }
    return this.#tokens;
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return null;
    this.#at += match[0].length;
    return match;
  }

  #push(kind: Token['kind'], pattern: RegExp): boolean {
    const start = this.#at;
    const match = this.#take(pattern);
    if (match === null) return false;
    this.#tokens.push({ kind, text: match[0], start, end: this.#at });
    return true;
  }

  #allowsRegex(): boolean {
    if (this.#isPython || this.#text[this.#at] !== '/') return false;
    const last = this.#tokens.at(-1);
    if (last === undefined) return true;
    if (last.kind === 'punctuation') return !')]}'.includes(last.text);
    return last.kind === 'name' && BEFORE_REGEX.test(last.text);
  }

  #string(): boolean {
    const start = this.#at;
    const match = this.#take(this.#isPython ? PYTHON_QUOTE : SCRIPT_QUOTE);
    if (match === null) return false;
    const [, prefix = '', delimiter = ''] = match;
    const quote: Quote = {
      delimiter,
      isRaw: /r/i.test(prefix),
      interpolation: delimiter === '`' ? '${' : /[ft]/i.test(prefix) ? '{' : null,
    };
    const { text, isEnd } = this.#piece(quote);
    this.#tokens.push({ kind: isEnd ? 'string' : 'template', text, start, end: this.#at });
    if (!isEnd) this.#enter(quote);
    return true;
  }

  /** Reads a string up to its end or up to interpolated code. */
  #piece({ delimiter, isRaw, interpolation }: Quote): { text: string; isEnd: boolean } {
    const text = this.#text;
    const parts: string[] = [];
    let from = this.#at;
    const ended = (isEnd: boolean, length: number) => {
      parts.push(text.slice(from, this.#at));
      this.#at += length;
      return { text: parts.join(''), isEnd };
    };
    while (this.#at < text.length) {
      const char = text[this.#at];
      if (char === '\\' && this.#at + 1 < text.length) {
        const next = text[this.#at + 1] ?? '';
        if (!isRaw) {
          parts.push(text.slice(from, this.#at), ESCAPES[next] ?? next);
          from = this.#at + 2;
        }
        this.#at += 2;
      } else if (text.startsWith(delimiter, this.#at)) return ended(true, delimiter.length);
      else if (interpolation === '{' && text.startsWith('{{', this.#at)) this.#at += 2;
      else if (interpolation !== null && text.startsWith(interpolation, this.#at))
        return ended(false, interpolation.length);
      // The quote is not closed on its line: the line is not valid code, and the next one is read as code.
      else if (char === '\n' && delimiter.length === 1 && delimiter !== '`') return ended(true, 0);
      else this.#at += 1;
    }
    return ended(true, 0);
  }

  #enter(quote: Quote): void {
    this.#tokens.push({ kind: 'punctuation', text: '${', start: this.#at, end: this.#at });
    this.#frames.push({ quote, braces: this.#braces });
  }

  #punctuation(): void {
    this.#push('punctuation', OPERATOR);
    const text = this.#tokens.at(-1)?.text;
    if (text === '{') this.#braces += 1;
    if (text !== '}') return;
    const frame = this.#frames.at(-1);
    if (frame?.braces !== this.#braces) {
      this.#braces = Math.max(0, this.#braces - 1);
      return;
    }
    this.#frames.pop();
    if (!this.#piece(frame.quote).isEnd) this.#enter(frame.quote);
  }
}
