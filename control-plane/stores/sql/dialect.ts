/** What differs between the databases in the text of a table definition. */
const TYPES = {
  // "C" orders like SQLite, by bytes. The order of pages must not depend on the database.
  postgres: {
    TEXT_KEY: 'TEXT COLLATE "C"',
    SERIAL_KEY: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  },
  sqlite: { TEXT_KEY: 'TEXT', SERIAL_KEY: 'INTEGER PRIMARY KEY' },
} as const;

/** Table definitions with `TEXT_KEY` and `SERIAL_KEY` in the words of one database. */
export function definitionsFor(database: keyof typeof TYPES, text: string): string {
  const { TEXT_KEY, SERIAL_KEY } = TYPES[database];
  return text.replaceAll('TEXT_KEY', TEXT_KEY).replaceAll('SERIAL_KEY', SERIAL_KEY);
}
