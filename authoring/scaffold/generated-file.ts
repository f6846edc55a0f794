/** One file that `platform generate` writes. */
export interface GeneratedFile {
  /** Path in the output directory, with `/` between its parts. */
  path: string;
  content: string;
  /** The user puts secrets into the file or into a copy, so only the user may read a new one. */
  isSecret?: true;
  /** An existing file stays as it is, also with `--force`. */
  kept?: true;
  /** A model writes a part of the content. */
  fromModel?: true;
}
