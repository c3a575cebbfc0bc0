import { Button, Skeleton } from '@mantine/core';
import { useState } from 'react';
import type { Job } from '../../api/types.ts';
import { Icon } from '../../parts/icons.tsx';
import { JsonView } from '../../parts/json-view.tsx';
import { exactText, secondsText } from '../../parts/moments.ts';
import { plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { To } from '../../parts/to.tsx';
import type { useJobEvents } from './job-events.ts';
import { type TimelineLine, timelineOf } from './timeline.ts';

interface JobTimelineProps {
  job: Job;
  log: ReturnType<typeof useJobEvents>;
}

/** What has happened to the job, from the audit log. */
export function JobTimeline({ job, log }: JobTimelineProps) {
  const lines = timelineOf(log.events);
  return (
    <Panel
      title="Timeline"
      aside={
        <To className="small" href={`/events?subject=${encodeURIComponent(job.jobId)}`}>
          {plural(log.events.length, 'event')}
        </To>
      }
    >
      {log.error === null ? null : (
        <Problem error={log.error} isStale={lines.length > 0} retry={log.refetch} />
      )}
      {log.isLoading ? <Skeleton height={80} /> : null}
      <ol className="timeline">
        {lines.map((line, index) => (
          <TimelineItem key={line.id} line={line} dayBefore={lines[index - 1]?.at} />
        ))}
      </ol>
      {log.hasMore ? (
        <Button variant="subtle" onClick={log.loadMore}>
          Show later events
        </Button>
      ) : null}
      {lines.length === 0 && !log.isLoading ? (
        <p className="dim">The events of this job are older than the retention of the log.</p>
      ) : null}
    </Panel>
  );
}

function TimelineItem({ line, dayBefore }: { line: TimelineLine; dayBefore: string | undefined }) {
  const [isOpen, setOpen] = useState(false);
  const at = new Date(line.at);
  const isNewDay = dayBefore === undefined || new Date(dayBefore).toDateString() !== at.toDateString();
  return (
    <li data-tone={line.tone}>
      {isNewDay ? <p className="timeline-day dim small">{at.toDateString()}</p> : null}
      <button type="button" className="timeline-line" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <time className="dim num" dateTime={line.at} title={exactText(at)}>
          {secondsText(at)}
        </time>
        <span className="timeline-dot" />
        <span>{line.sentence}</span>
        <Icon name={isOpen ? 'chevronDown' : 'chevronRight'} size={12} />
      </button>
      {isOpen ? <JsonView value={line.events.length === 1 ? line.events[0] : line.events} /> : null}
    </li>
  );
}
