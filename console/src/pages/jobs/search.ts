import { oneOf, searchParser, text } from '../../list-state.ts';

export const jobStatuses = [
  'queued',
  'running',
  'paused',
  'failed',
  'dead_letter',
  'success',
  'canceled',
] as const;
export type JobStatus = (typeof jobStatuses)[number];

export interface JobsSearch {
  status: JobStatus;
  pipeline: string;
  subject: string;
}

export const jobsSearch = searchParser<JobsSearch>({
  status: oneOf(jobStatuses),
  pipeline: text(),
  subject: text(),
});

export interface JobSearch {
  tab: 'events' | 'json';
}

export const jobSearch = searchParser<JobSearch>({ tab: oneOf(['events', 'json']) });
