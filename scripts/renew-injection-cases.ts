// Updates the expected result in every file of core/injection/cases with the current one. Review the diff before committing:
//   npm run renew:cases && git diff core/injection/cases
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import {
  CASES_FOLDER,
  outcomeOfCase,
  readCase,
  storedCase,
  WHOLE,
} from '../testing/cluster/injection-case.ts';

// The other files have the difference from the first one.
for (const name of new Set([WHOLE, ...readdirSync(CASES_FOLDER)])) {
  const file = join(CASES_FOLDER, name);
  const stored = readFileSync(file, 'utf8');
  const { about, settings, before } = readCase(stored);
  const outcome = outcomeOfCase({ settings, before });
  const text = stringify(storedCase(name, { about, ...(settings && { settings }), before, ...outcome }), {
    lineWidth: 0,
    aliasDuplicateObjects: false,
    singleQuote: true,
  });
  if (text === stored) continue;
  writeFileSync(file, text);
  console.log(`renewed ${name}`);
}
