import { replaceFile } from '../push/replace-file.ts';
import { causeOf } from './file-failure.ts';
import { printable } from './rendered.ts';

/** Writes a whole file. Returns why it could not be written; null: it is written. @param shown the path for the message */
export async function writeProblem(path: string, shown: string, text: string): Promise<string | null> {
  try {
    await replaceFile(path, text, 0o666);
    return null;
  } catch (error) {
    return `cannot write ${printable(shown)}: ${causeOf(error)}`;
  }
}
