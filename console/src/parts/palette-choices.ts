import type { IconName } from './icons.tsx';
import { places } from './places.ts';

export interface Choice {
  label: string;
  href: string;
  icon: IconName;
  hint?: string;
}

interface Making extends Choice {
  right: string;
}

const makings: readonly Making[] = [
  { label: 'Upload a report', href: '/uploads/new', icon: 'plus', right: 'upload.create' },
  { label: 'New items job', href: '/items/new', icon: 'plus', right: 'item.create' },
  { label: 'New knowledge base', href: '/knowledge/new', icon: 'plus', right: 'knowledge.manage' },
];

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const eventType = /^[a-z][a-z0-9_]*\.(\*|[a-z0-9_.]+)$/;
const maxChoices = 12;

/** What the palette offers for the words typed so far, and for what this role may do. */
export function choicesFor(words: string, rights: readonly string[]): Choice[] {
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
  return [...idChoices(typed), ...going, ...making].slice(0, maxChoices);
}

/** An id could be of many things; the ways to look are offered. */
function idChoices(typed: string): Choice[] {
  if (uuid.test(typed)) {
    return [
      { label: 'Open as job', href: `/jobs/${typed}`, icon: 'list' },
      { label: 'Open as upload', href: `/uploads/${typed}`, icon: 'upload' },
      { label: 'Events about it', href: `/events?subject=${typed}`, icon: 'activity' },
    ];
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
