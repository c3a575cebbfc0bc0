import { Drawer } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { Event } from '../../api/types.ts';
import { Id } from '../../parts/command.tsx';
import { eventLinks, eventLook } from '../../parts/event-words.ts';
import { JsonView } from '../../parts/json-view.tsx';
import { exactText } from '../../parts/moments.ts';
import { Problem } from '../../parts/problem.tsx';
import { To } from '../../parts/to.tsx';

interface EventDrawerProps {
  id: string | undefined;
  rows: readonly Event[];
  onClose: () => void;
}

/** One event with its payload; found by its id even when the list does not show it. */
export function EventDrawer({ id, rows, onClose }: EventDrawerProps) {
  const listed = rows.find((event) => event.id === id);
  const asked = useQuery({
    queryKey: ['events', 'one', id],
    queryFn: () => findEvent(id ?? ''),
    enabled: id !== undefined && listed === undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const event = listed ?? asked.data ?? undefined;
  return (
    <Drawer
      opened={id !== undefined}
      onClose={onClose}
      position="right"
      size="lg"
      title={event?.type ?? 'Event'}
    >
      {asked.error === null ? null : <Problem error={asked.error} retry={() => void asked.refetch()} />}
      {event === undefined && asked.data === null ? (
        <p>There is no event with the id {id}, or it is older than the retention of the log.</p>
      ) : null}
      {event === undefined ? null : <EventBody event={event} />}
    </Drawer>
  );
}

function EventBody({ event }: { event: Event }) {
  return (
    <div className="stack">
      <p>{eventLook(event).sentence}</p>
      <dl className="facts">
        <dt>When</dt>
        <dd>{exactText(new Date(event.time))}</dd>
        <dt>About</dt>
        <dd>
          <Id value={event.subject} length={40} />
        </dd>
        <dt>Event id</dt>
        <dd>
          <Id value={event.id} length={40} />
        </dd>
      </dl>
      <div className="row">
        {eventLinks(event).map(({ label, href }) => (
          <To key={href} href={href}>
            {label}
          </To>
        ))}
      </div>
      <JsonView value={event} />
    </div>
  );
}

/** The newest event before the next id; another id means that the event is gone. */
async function findEvent(id: string): Promise<Event | null> {
  const [, era = '0', number = '0'] = /^(\d+)-(\d+)$/.exec(id) ?? [];
  const before = `${era}-${BigInt(number) + 1n}`;
  const page = await api.get('/api/events', { query: { order: 'newest', before, limit: 1 } });
  const [event] = page.data;
  return event?.id === id ? event : null;
}
