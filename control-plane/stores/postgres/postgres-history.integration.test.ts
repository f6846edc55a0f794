import { setTimeout as delay } from 'node:timers/promises';
import { describe } from '@jest/globals';
import { systemClock } from '../../../runtime/clock.ts';
import { silentLogger } from '../../../runtime/logger.ts';
import { startPostgres, whyNoDebianServers } from '../../../testing/machine/debian-server.ts';
import { historyContract, historyHarnessOf } from '../../../testing/fleet/history-contract.ts';
import { ManualClock } from '../../../testing/time/manual-clock.ts';
import { SqlStore } from '../sql/sql-store.ts';
import { parseDatabaseUrl } from './database-url.ts';
import { PostgresDatabase } from './postgres-database.ts';

(whyNoDebianServers() ? describe.skip : describe)('with a real server,', () => {
  historyContract('the PostgreSQL store', async () => {
    const password = 'test-password';
    const server = await startPostgres({ password });
    const address = parseDatabaseUrl(`postgres://postgres:${password}@127.0.0.1:${server.port}/postgres`)!;
    const make = async () => {
      const settings = { address, caFile: null, poolSize: 5 };
      const database = new PostgresDatabase({ ...settings, clock: systemClock, logger: silentLogger });
      // The clock of the test: with the real time the store would remove the old agents of the contract.
      const clock = new ManualClock('2026-03-01T10:00:00.000Z');
      const store = new SqlStore({ database, clock, rateLimitSeconds: 10 });
      await store.start();
      // A new server accepts connections before it accepts logins.
      while (store.unready() !== null) await delay(20);
      return { database, store };
    };
    return historyHarnessOf(make, () => server.close());
  });
});
