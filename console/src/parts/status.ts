import type { IconName } from './icons.tsx';

/** What a colour means; each is the same everywhere and never appears without its icon and a word. */
export const tones = [
  'queued',
  'running',
  'retry',
  'paused',
  'done',
  'partial',
  'failed',
  'canceled',
  'you',
] as const;
export type Tone = (typeof tones)[number];

export interface StatusLook {
  tone: Tone;
  icon: IconName;
  word: string;
}

const icons: Record<Tone, IconName> = {
  queued: 'queued',
  running: 'play',
  retry: 'retry',
  paused: 'pause',
  done: 'checkCircle',
  partial: 'partial',
  failed: 'xCircle',
  canceled: 'slash',
  you: 'hand',
};

/**
 * Whose words are meant, where one word means different things: `failed` of a kernel job (and so of a sync) waits for
 * its retry, `failed` of an upload has ended; `closed` is good news of a circuit breaker only.
 */
export type StatusHouse = 'job' | 'sync' | 'circuit';

const ofHouse: Record<StatusHouse, Record<string, [Tone, string]>> = {
  job: { failed: ['retry', 'waiting for retry'] },
  sync: { failed: ['retry', 'waiting for retry'] },
  circuit: {
    closed: ['done', 'reachable'],
    open: ['failed', 'not reachable'],
    probing: ['retry', 'trying again'],
  },
};

const ofAll: Record<string, [Tone, string]> = {
  // The kernel's jobs, and /api/jobs' second words for them.
  queued: ['queued', 'queued'],
  running: ['running', 'running'],
  paused: ['paused', 'paused'],
  failed: ['failed', 'failed'],
  dead_letter: ['failed', 'dead letter'],
  success: ['done', 'done'],
  canceled: ['canceled', 'canceled'],
  // Connectors whose tick has passed.
  late: ['retry', 'late'],
  // What a look at Airbyte found.
  not_configured: ['queued', 'not configured'],
  wrong_address: ['failed', 'wrong address'],
  credentials_refused: ['failed', 'credentials refused'],
  workspace_unknown: ['failed', 'workspace unknown'],
  unreachable: ['failed', 'not reachable'],
  // Items.
  pending: ['queued', 'pending'],
  processing: ['running', 'processing'],
  done: ['done', 'done'],
  error: ['failed', 'error'],
  not_found: ['queued', 'not found'],
  skipped: ['canceled', 'skipped'],
  // Uploads and their rows.
  staging_complete: ['you', 'waits for review'],
  promoting: ['running', 'promoting'],
  completed: ['done', 'done'],
  partial: ['partial', 'partly done'],
  valid: ['done', 'valid'],
  invalid: ['failed', 'rejected'],
  promoted: ['done', 'promoted'],
  undone: ['canceled', 'undone'],
  // Knowledge: runs, documents, generations.
  not_started: ['queued', 'not started'],
  indexed: ['done', 'indexed'],
  empty: ['queued', 'empty'],
  gone: ['canceled', 'gone'],
  building: ['running', 'building'],
  serving: ['done', 'serving'],
  retired: ['canceled', 'retired'],
  // Adapters and their files.
  new: ['queued', 'not scanned yet'],
  scanning: ['running', 'scanning'],
  pulling: ['running', 'pulling'],
  ok: ['done', 'ok'],
  failing: ['failed', 'failing'],
  waiting: ['queued', 'waiting'],
  ingested: ['done', 'taken in'],
  duplicate: ['canceled', 'duplicate'],
  // Things that are switched on or off, and deliveries.
  enabled: ['done', 'on'],
  active: ['done', 'active'],
  disabled: ['canceled', 'off'],
  invited: ['queued', 'invited'],
  revoked: ['canceled', 'revoked'],
  suspended: ['paused', 'suspended'],
  expired: ['canceled', 'expired'],
  delivered: ['done', 'delivered'],
  sending: ['running', 'sending'],
  delivering: ['running', 'sending'],
  retrying: ['retry', 'waiting for retry'],
  exhausted: ['failed', 'given up'],
  ready: ['done', 'ready'],
  not_ready: ['failed', 'not ready'],
};

/** Colour, icon and word of a state of any house, in any case; null for a word that nobody has declared. */
export function findStatusLook(status: string, of?: StatusHouse): StatusLook | null {
  const word = status.toLowerCase();
  const found = (of && ofHouse[of][word]) ?? ofAll[word];
  return found === undefined ? null : { tone: found[0], icon: icons[found[0]], word: found[1] };
}

/** The same for the screen: an unknown word is shown as it is, in grey. */
export function statusLook(status: string, of?: StatusHouse): StatusLook {
  return (
    findStatusLook(status, of) ?? {
      tone: 'queued',
      icon: 'info',
      word: status.toLowerCase().replaceAll('_', ' '),
    }
  );
}
