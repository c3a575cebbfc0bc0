import { plural } from '../../parts/number.ts';
import type { RowNote } from './file-preview.ts';

/** What was repaired while the file was read: the rule, how often, and where first. */
export function NoteList({ notes }: { notes: readonly RowNote[] }) {
  if (notes.length === 0) return null;
  return (
    <ul className="notes" aria-label="Repairs">
      {notes.map(({ code, message, count, places }) => (
        <li key={code} data-tone="retry">
          <span className="toned">{message}</span>{' '}
          <span className="dim">
            {plural(count, 'time')}
            {places.slice(0, 3).map(({ line, what }) => ` · ${line === null ? '' : `line ${line}: `}${what}`)}
            {count > 3 ? ' …' : ''} <code>{code}</code>
          </span>
        </li>
      ))}
    </ul>
  );
}
