// Creates a .tgz that depends only on the names and contents of its files and on the given time. `tar` needs different options
// for this on different systems. A library would be one more dependency, for one header per file.
import { gzipSync } from 'node:zlib';

const BLOCK = 512;

export interface ArchiveFile {
  /** With slashes, at most 100 bytes of ASCII. */
  path: string;
  content: Buffer;
}

/** Files in the order of their paths, readable by all, owned by root; `epoch` in seconds since 1970. Throws on a long path. */
export function archiveOf(files: readonly ArchiveFile[], epoch: number): Buffer {
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  const parts = sorted.flatMap(({ path, content }) => [
    headerOf(path, content.length, epoch),
    content,
    Buffer.alloc(-content.length & (BLOCK - 1)),
  ]);
  const tgz = gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]), { level: 9 });
  // Operating system: unknown, to be independent of the machine.
  tgz[9] = 255;
  return tgz;
}

/** A POSIX ustar header. */
function headerOf(path: string, size: number, epoch: number): Buffer {
  if (!/^[\x21-\x7e]{1,100}$/.test(path)) throw new Error(`${path}: path is too long or not ASCII`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  header.write(path, 0);
  header.write(octal(0o644, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(size, 11), 124);
  header.write(octal(epoch, 11), 136);
  header.write(' '.repeat(8), 148);
  header.write('0', 156);
  header.write('ustar\x0000', 257);
  header.write(octal(0, 7), 329);
  header.write(octal(0, 7), 337);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}
