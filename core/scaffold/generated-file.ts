/** One file that `platform generate` writes. */
export interface GeneratedFile {
  /** Path in the output directory, with `/` between its parts. */
  path: string;
  content: string;
  executable?: true;
}
