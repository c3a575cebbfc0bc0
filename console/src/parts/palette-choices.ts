import type { IconName } from './icons.tsx';
import { places } from './places.ts';

export interface Choice {
  label: string;
  /** Where it leads; null for what acts at once. */
  href: string | null;
  icon: IconName;
  hint?: string;
  act?: () => void;
}

interface Making extends Choice {
  right: string;
}

const makings: readonly Making[] = [
  { label: 'Upload a report', href: '/uploads/new', icon: 'plus', right: 'upload.create' },
  { label: 'New items job', href: '/items/new', icon: 'plus', right: 'item.create' },
  { label: 'New knowledge base', href: '/knowledge/new', icon: 'plus', right: 'knowledge.manage' },
  {
    label: 'Define a platform for uploads',
    href: '/uploads/platforms',
    icon: 'plus',
    right: 'upload.platforms',
  },
  { label: 'Invite a person', href: '/settings?tab=users', icon: 'plus', right: 'user.manage' },
  { label: 'Create an API key', href: '/settings?tab=keys', icon: 'key', right: 'api_key.manage' },
];

/** Kinds of things that `GET /api/search` finds; one that is not here is shown with its own word. */
const kinds: Record<string, { icon: IconName; word: string }> = {
  upload: { icon: 'upload', word: 'upload' },
  upload_source: { icon: 'download', word: 'source of reports' },
  campaign: { icon: 'chart', word: 'campaign' },
  ad_set: { icon: 'chart', word: 'ad set' },
  ad: { icon: 'chart', word: 'ad' },
  job: { icon: 'list', word: 'job' },
  catalog: { icon: 'grid', word: 'catalogue' },
  connector: { icon: 'plug', word: 'connector' },
  knowledge_base: { icon: 'book', word: 'knowledge base' },
  document: { icon: 'file', word: 'document' },
  scrape_source: { icon: 'globe', word: 'source' },
  reference: { icon: 'link', word: 'reference' },
  adapter: { icon: 'download', word: 'adapter' },
  webhook: { icon: 'webhook', word: 'webhook' },
  workspace: { icon: 'home', word: 'workspace' },
  user: { icon: 'hand', word: 'person' },
};

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const eventType = /^[a-z][a-z0-9_]*\.(\*|[a-z0-9_.]+)$/;
const maxChoices = 14;
const maxPages = 5;

export interface Offers {
  rights: readonly string[];
  /** What the server found for these words. */
  found?: readonly Found[];
  /** What can be done from anywhere, such as another colour scheme. */
  actions?: readonly Choice[];
}

export interface Found {
  kind: string;
  id: string;
  name: string;
  url: string;
}

/** What the palette offers for the words typed so far, and for what this role may do. */
export function choicesFor(words: string, { rights, found = [], actions = [] }: Offers): Choice[] {
  const typed = words.trim();
  const may = (right: string | undefined) => right === undefined || rights.includes(right);
  const going = places
    .filter(({ right, label, words: more }) => may(right) && matches(typed, `${label} ${more}`))
    .map(({ label, to, icon, key }) => ({
      label,
      href: to,
      icon,
      ...(key === null ? {} : { hint: `g ${key}` }),
    }));
  const making = makings.filter(({ right, label }) => may(right) && matches(typed, label));
  const acting = actions.filter(({ label, hint }) => matches(typed, `${label} ${hint ?? ''}`));
  const pages = typed === '' ? going : going.slice(0, maxPages);
  return [...found.map(foundChoice), ...idChoices(typed), ...pages, ...making, ...acting].slice(
    0,
    maxChoices,
  );
}

function foundChoice({ kind, name, url }: Found): Choice {
  const { icon, word } = kinds[kind] ?? { icon: 'link' as const, word: kind.replaceAll('_', ' ') };
  return { label: name, href: url, icon, hint: word };
}

/** What an id or an event type is about, beside the thing itself. */
function idChoices(typed: string): Choice[] {
  if (uuid.test(typed)) {
    return [{ label: 'Events about it', href: `/events?subject=${typed}`, icon: 'activity' }];
  }
  if (eventType.test(typed)) {
    return [
      {
        label: `Events of type ${typed}`,
        href: `/events?type=${encodeURIComponent(typed)}`,
        icon: 'activity',
      },
    ];
  }
  return [];
}

function matches(typed: string, text: string): boolean {
  const found = text.toLowerCase();
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => found.includes(word));
}
