import type { Notice } from '../types.ts';

/** What the webhook said about this run, if anything. */
export function noticeAbout(
  notice: Notice | null,
  { runId, scrub }: { runId: string | undefined; scrub: (text: string) => string },
): Notice | null {
  // Beyond 2^53 the number in the webhook's JSON has lost digits, so ours is rounded the same way to compare them.
  if (notice === null || Number(notice.runId) !== Number(runId)) return null;
  // The process that received the notice knew other tokens than this one, so scrub again.
  return { ...notice, errorMessage: notice.errorMessage && scrub(notice.errorMessage) };
}

/** The source or destination is set up wrongly: no retry helps before somebody changes it. */
export function isConfigError(notice: Notice | null): notice is Notice {
  return notice !== null && notice.success !== true && notice.errorType === 'config_error';
}
