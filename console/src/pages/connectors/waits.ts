import type { Sync } from '../../api/types.ts';

/** What a sync waits for, in words. Waiting uses no attempt. */
const waits: Record<string, string> = {
  airbyte_not_configured: 'until Airbyte is configured',
  airbyte_unavailable: 'until Airbyte responds again',
  airbyte_credentials_refused: 'until Airbyte accepts the credentials',
  airbyte_wrong_address: 'until AIRBYTE_BASE_URL leads to the API of Airbyte',
  airbyte_job_running: 'for a reset, refresh or clear of the connection to end',
  lost_trigger: 'for the run of a trigger whose response was unclear, before it sends another',
  rate_limit: 'for the limit of its connector or account',
  sync_cap: 'because as many syncs run as are allowed at once',
  canceling: 'until Airbyte has stopped the run',
};

export function waitWords(reason: string): string {
  if (reason.startsWith('poll_')) return 'because Airbyte could not be asked about the run';
  return waits[reason] ?? reason.replaceAll('_', ' ');
}

export function waitSentence({ waiting_for, blocked_by }: Sync): string | null {
  if (blocked_by !== null) {
    return `It waits for the ${blocked_by.job_type} that runs on the connection at Airbyte. No attempt is used.`;
  }
  return waiting_for === null ? null : `It waits ${waitWords(waiting_for)}. No attempt is used.`;
}
