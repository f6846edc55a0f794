/** One file that `platform generate` writes. */
export interface GeneratedFile {
  /** Path in the output directory, with `/` between its parts. */
  path: string;
  content: string;
  executable?: true;
  /** An existing file stays as it is, also with `--force`. */
  kept?: true;
  /** A model writes a part of the content. */
  fromModel?: true;
}
