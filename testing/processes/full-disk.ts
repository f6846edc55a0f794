import {
  linkSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
  openSync,
  closeSync,
} from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../push/replace-file.ts';

// Replaces a file on a small disk that is full, except some pages. Arguments: directory of the disk, names of the file, free pages.
const [directory = '', names = '1', freePages = '0'] = process.argv.slice(2);
const PAGE = 4096;
const [path, fill] = [join(directory, 'file'), join(directory, 'fill')];
const before = 'old\n'.repeat(500);
writeFileSync(path, before);
if (names === '2') linkSync(path, join(directory, 'other-name'));
const disk = openSync(fill, 'w');
try {
  for (;;) writeSync(disk, Buffer.alloc(PAGE));
} catch {
  closeSync(disk);
}
truncateSync(fill, statSync(fill).size - Number(freePages) * PAGE);
const code = await replaceFile(path, 'new\n'.repeat(3_000), 0o666).then(
  () => null,
  (error: NodeJS.ErrnoException) => error.code,
);
process.stdout.write(
  JSON.stringify({
    code,
    isKept: readFileSync(path, 'utf8') === before,
    files: readdirSync(directory).toSorted(),
  }),
);
