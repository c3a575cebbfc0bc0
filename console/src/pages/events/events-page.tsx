import { useMemo } from 'react';
import type { Event } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { eventLook } from '../../parts/event-words.ts';
import { FilterBar, FilterSelect, FilterText } from '../../parts/filter-bar.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { Ago } from '../../parts/time.tsx';
import { EventDrawer } from './event-drawer.tsx';
import { useEventList } from './event-list.ts';
import './events.css';
import { eventsSearch } from './search.ts';

/** Kinds that people look for; anything else is typed. */
const kinds = [
  { value: 'job.*', label: 'Jobs' },
  { value: 'job.failed,job.dead_lettered,upload.failed', label: 'Failures' },
  { value: 'item.*', label: 'Items' },
  { value: 'upload.*,ingestion.*', label: 'Uploads' },
  { value: 'handoff.*', label: 'Hand-offs' },
  { value: 'sync.*', label: 'Syncs' },
];

const columns: readonly Column<Event>[] = [
  {
    id: 'what',
    header: 'What happened',
    cell: (event) => {
      const { tone, sentence } = eventLook(event);
      return (
        <span className="event-what" data-tone={tone} title={sentence}>
          {sentence}
        </span>
      );
    },
  },
  { id: 'type', header: 'Type', width: 190, cell: ({ type }) => <code>{type}</code> },
  {
    id: 'subject',
    header: 'About',
    width: 290,
    cell: ({ subject }) => (
      <code className="dim" title={subject}>
        {subject}
      </code>
    ),
  },
  { id: 'at', header: 'When', width: 110, cell: ({ time }) => <Ago at={time} /> },
];

const eventKey = ({ id }: Event) => id;

/** The audit log, newest first and live. */
export default function EventsPage() {
  const [{ type, subject, event: openId }, change] = useListState(eventsSearch);
  const filters = useMemo(() => ({ type, subject }), [type, subject]);
  const list = useEventList(filters);
  const isFiltered = type !== undefined || subject !== undefined;
  return (
    <ListPage
      title="Events"
      sentence="Everything that happened, newest first. Nothing here can be changed."
      filters={
        <FilterBar isFiltered={isFiltered} onReset={() => change({ type: undefined, subject: undefined })}>
          <FilterSelect
            label="Kind"
            all={type !== undefined && !kinds.some(({ value }) => value === type) ? 'Custom' : 'All kinds'}
            value={type}
            options={kinds}
            onChange={(value) => change({ type: value })}
          />
          <FilterText
            label="Types, such as job.*"
            value={type}
            onChange={(value) => change({ type: value })}
          />
          <FilterText
            label="About (id of a job, upload …)"
            value={subject}
            onChange={(value) => change({ subject: value })}
            width={280}
          />
        </FilterBar>
      }
      label="Events"
      columns={columns}
      rows={list.rows}
      rowKey={eventKey}
      onOpen={({ id }) => change({ event: id })}
      openKey={openId}
      empty={<NoEvents isFiltered={isFiltered} />}
      list={list}
      noun="events"
    >
      <EventDrawer id={openId} rows={list.rows} onClose={() => change({ event: undefined })} />
    </ListPage>
  );
}

function NoEvents({ isFiltered }: { isFiltered: boolean }) {
  return (
    <Empty
      sentence={
        isFiltered
          ? 'No event matches these filters. New ones appear here as they happen.'
          : 'No event yet. Every change of a job, an upload or a hand-off is listed here.'
      }
      sample={['done in 3 s', <code key="type">job.completed</code>, 'just now']}
      command="sluice jobs watch"
    />
  );
}
