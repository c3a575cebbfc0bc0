import { isSluiceError } from '../errors.ts';

/**
 * Repeats the work once when the database was away: the connection was cut, or this process was stopped inside the
 * transaction for longer than it may be idle. In both cases the first try had no effect.
 */
export async function onceMore<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isSluiceError(error) && error.code === 'database_unavailable') return work();
    throw error;
  }
}
