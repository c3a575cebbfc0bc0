/** Lines on a 24 × 24 field; each path is drawn with the colour of the text around it. */
const paths = {
  activity: 'M3 12h4l3-8 4 16 3-8h4',
  alert: 'M12 4 2.5 20h19L12 4ZM12 10v4M12 17v.01',
  bell: 'M6 17V11a6 6 0 0 1 12 0v6l2 2H4l2-2ZM10 21h4',
  book: 'M4 5a2 2 0 0 1 2-2h13v18H6a2 2 0 0 1-2-2V5ZM4 18a2 2 0 0 1 2-2h13',
  chart: 'M4 20h16M7 16v-5M12 16V6M17 16v-8',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  checkCircle: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM8 12.3l2.8 2.8L16 9.6',
  chevronDown: 'm6 9 6 6 6-6',
  chevronRight: 'm9 6 6 6-6 6',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 7v5l3.5 2',
  columns: 'M4 5h16v14H4zM10 5v14M15 5v14',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  download: 'M12 4v11m-5-5 5 5 5-5M4 20h16',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  file: 'M6 3h8l5 5v13H6zM14 3v5h5',
  filter: 'M4 5h16l-6 8v6l-4-2v-4L4 5Z',
  globe: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18',
  grid: 'M4 4h16v16H4zM4 10h16M4 15h16M10 4v16',
  hand: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4 21c0-4 3.6-6 8-6s8 2 8 6',
  home: 'M4 11 12 4l8 7v9h-5v-6H9v6H4z',
  hourglass: 'M6 3h12M6 21h12M7 3v4l5 5 5-5V3M7 21v-4l5-5 5 5v4',
  inboxX: 'M4 13 6 4h12l2 9v7H4v-7ZM4 13h5l1 3h4l1-3h5M10 6.5l4 4M14 6.5l-4 4',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 11v5M12 8v.01',
  key: 'M8 19a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM11 12l8-8M16 7l3 3',
  keyboard: 'M3 6h18v12H3zM7 10v.01M11 10v.01M15 10v.01M8 14h8',
  link: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1 1M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7l1-1',
  list: 'M9 6h11M9 12h11M9 18h11M4.5 6v.01M4.5 12v.01M4.5 18v.01',
  logout: 'M14 4H5v16h9M10 12h11m-4-4 4 4-4 4',
  menu: 'M4 7h16M4 12h16M4 17h16',
  minus: 'M6 12h12',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5Z',
  more: 'M5 12v.01M12 12v.01M19 12v.01',
  partial: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 3v18M12 8h7M12 12h9M12 16h7',
  pause: 'M8 5v14M16 5v14',
  play: 'M7 4.5v15l12-7.5-12-7.5Z',
  plug: 'M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0V8ZM12 17v4',
  plus: 'M12 5v14M5 12h14',
  queued: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM8 12v.01M12 12v.01M16 12v.01',
  refresh: 'M20 11a8 8 0 1 0-2.3 6.3M20 4v7h-7',
  retry: 'M4 13a8 8 0 1 0 2.3-6.7M4 4v6h6',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM20 20l-4-4',
  settings:
    'M4 7h9M17 7h3M4 17h3M11 17h9M17 7a2 2 0 1 0-4 0 2 2 0 0 0 4 0ZM11 17a2 2 0 1 0-4 0 2 2 0 0 0 4 0Z',
  slash: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM6 18 18 6',
  stop: 'M6 6h12v12H6z',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 3v2M12 19v2M3 12h2M19 12h2M6 6l1 1M17 17l1 1M6 18l1-1M17 7l1-1',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13',
  undo: 'M4 10h10a5 5 0 0 1 0 10H9M4 10l5-5M4 10l5 5',
  upload: 'M12 19V8m-5 5 5-5 5 5M4 4h16',
  webhook: 'M9 8a3 3 0 1 1 4.5 2.6L16 15M10.5 10.5 8 15.5M16 20a3 3 0 1 0-2.6-4.5H8M7 20a3 3 0 1 1-.5-5.9',
  x: 'm6 6 12 12M18 6 6 18',
  xCircle: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM9 9l6 6M15 9l-6 6',
} as const;

export type IconName = keyof typeof paths;

/** Decoration beside a word: hidden from screen readers, so never the only sign of something. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.9}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
