import { isSluiceError } from './errors.ts';

/**
 * Does it a second time when the database was away the first time: the connection was cut, or this process was stopped
 * inside of the transaction for longer than it may be idle. Nothing was done then.
 */
export async function onceMore<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isSluiceError(error) && error.code === 'database_unavailable') return work();
    throw error;
  }
}
