import { Link } from '@tanstack/react-router';
import { useMe } from '../api/queries.ts';
import { Icon } from '../parts/icons.tsx';
import { type Place, places } from '../parts/places.ts';

/** The five pipelines and, below a line, what all of them share. */
export function Rail({ onGo }: { onGo?: () => void }) {
  const rights = useMe()?.rights ?? [];
  const allowed = places.filter(({ right }) => right === undefined || rights.includes(right));
  return (
    <nav className="rail" aria-label="Main">
      {(['top', 'pipelines', 'below'] as const).map((group) => (
        <ul key={group}>
          {allowed
            .filter((place) => place.group === group)
            .map((place) => (
              <RailLink key={place.to} place={place} onGo={onGo} />
            ))}
        </ul>
      ))}
    </nav>
  );
}

function RailLink({ place, onGo }: { place: Place; onGo: (() => void) | undefined }) {
  return (
    <li>
      <Link to={place.to} activeOptions={{ exact: place.to === '/', includeSearch: false }} onClick={onGo}>
        <Icon name={place.icon} />
        {place.label}
      </Link>
    </li>
  );
}
