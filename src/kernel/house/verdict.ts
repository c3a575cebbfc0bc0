/** What a check of `sluice doctor` found. */
export interface Verdict {
  state: 'ok' | 'warn' | 'failed';
  message: string;
  /** What to do; empty when all is well. */
  remedy: string;
}

export const ok = (message: string): Verdict => ({ state: 'ok', message, remedy: '' });
export const warn = (message: string, remedy: string): Verdict => ({ state: 'warn', message, remedy });
export const failed = (message: string, remedy: string): Verdict => ({ state: 'failed', message, remedy });
