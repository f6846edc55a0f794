import type { Clock } from '../../../runtime/clock.ts';
import { describeError, type Logger } from '../../../runtime/logger.ts';
import { Problem } from '../../../runtime/problem.ts';
import { createOutageLog } from '../../outage-log.ts';
import type { SqlDatabase } from './sql-database.ts';
import { unavailable } from './unavailable.ts';

/**
 * The database with one warning per period in which it rejects transactions: an overload, a full disk. Without it, each response
 * 503 would log its cause. The rejections have no cause, because the cause is in the log already.
 */
export function logFailures(
  database: SqlDatabase,
  { clock, logger }: { clock: Clock; logger: Logger },
): SqlDatabase {
  const outage = createOutageLog(clock, {
    begin: (error) => logger.warn('database requests failing', { error }),
    end: (failures) => logger.info('database requests succeed again', { failures }),
  });
  const logged = async <T>(transaction: Promise<T>): Promise<T> => {
    try {
      const result = await transaction;
      outage.succeeded();
      return result;
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 503 || error.cause === undefined) throw error;
      if (!outage.failed(error.cause))
        logger.debug('database request failed again', { error: describeError(error.cause) });
      throw unavailable();
    }
  };
  return {
    forUpdate: database.forUpdate,
    open: () => database.open(),
    close: () => database.close(),
    unready: () => database.unready(),
    transaction: (work) => logged(database.transaction(work)),
    read: (work) => logged(database.read(work)),
  };
}
