import type { SqlSession } from './sql-database.ts';

/**
 * A session that rejects statements after `close`. Work that runs statements concurrently may continue after one of them failed;
 * its later statements must not run outside the transaction.
 */
export function closableSession(inner: SqlSession): SqlSession & { close(): void } {
  let isOpen = true;
  const ended = (): Promise<never> => Promise.reject(new Error('the transaction has ended'));
  return {
    all: (sql, ...values) => (isOpen ? inner.all(sql, ...values) : ended()),
    run: (sql, ...values) => (isOpen ? inner.run(sql, ...values) : ended()),
    close: () => {
      isOpen = false;
    },
  };
}
