import type { Logger } from '../../lib/log.ts';
import { exitCodes } from './exit.ts';

/**
 * SIGTERM and SIGINT stop the program cleanly, even while it is still starting; a second one ends it at once.
 * An uncaught error is logged and ends the program, because its state is unknown.
 */
export function stopOnSignals(logger: Logger): { stopWith(stop: () => Promise<void>): void } {
  let stop: (() => Promise<void>) | null = null;
  let received: NodeJS.Signals | null = null;

  const stopNow = async (signal: NodeJS.Signals, stopApp: () => Promise<void>): Promise<void> => {
    logger.info({ signal }, 'stopping');
    await stopApp();
    process.exit(exitCodes.ok);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (received !== null) process.exit(exitCodes.interrupted);
    received = signal;
    if (stop) void stopNow(signal, stop);
  };
  const onFatal = (err: unknown): void => {
    logger.fatal({ err }, 'an unexpected error ended the process');
    process.exit(exitCodes.failed);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  process.on('uncaughtException', onFatal);
  process.on('unhandledRejection', onFatal);
  return {
    stopWith(stopApp) {
      stop = stopApp;
      if (received !== null) void stopNow(received, stopApp);
    },
  };
}
