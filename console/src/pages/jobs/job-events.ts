import { useInfiniteQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { Event, Job } from '../../api/types.ts';
import { nextCursor } from '../../parts/keyset.ts';

const pageSize = 500;

/** The audit log about one subject, from its beginning. */
function useSubjectEvents(subject: string, enabled: boolean) {
  return useInfiniteQuery({
    // Under the area of jobs: a job's events are what makes it out of date.
    queryKey: ['jobs', 'events', subject],
    queryFn: ({ pageParam, signal }) =>
      api.get('/api/events', { query: { subject, limit: pageSize, cursor: pageParam }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => nextCursor(page),
    enabled,
  });
}

/** Of the job, and of the upload that it is about. */
export function useJobEvents(job: Job) {
  const own = useSubjectEvents(job.jobId, true);
  const hasSubjectEvents = job.subjectId !== job.jobId;
  const subject = useSubjectEvents(job.subjectId, hasSubjectEvents);
  const pages = [...(own.data?.pages ?? []), ...((hasSubjectEvents && subject.data?.pages) || [])];
  const events: Event[] = pages.flatMap(({ data }) => data).filter((event) => concerns(event, job));
  return {
    events,
    error: own.error ?? subject.error,
    isLoading: own.isPending || (hasSubjectEvents && subject.isPending),
    hasMore: own.hasNextPage || subject.hasNextPage,
    loadMore: () => {
      if (own.hasNextPage) void own.fetchNextPage();
      if (subject.hasNextPage) void subject.fetchNextPage();
    },
    refetch: () => void Promise.all([own.refetch(), subject.refetch()]),
  };
}

/** A connector or a knowledge base has many jobs: only the events of this job are kept. */
function concerns({ data, subject }: Event, job: Job): boolean {
  return subject === job.jobId || data.job_id === undefined || data.job_id === job.jobId;
}
