import type { Job } from '../api/types.ts';
import type { IconName } from './icons.tsx';

export interface PipelineLook {
  label: string;
  /** One job of it. */
  noun: string;
  icon: IconName;
}

export const pipelines = ['uploads', 'pulls', 'items', 'knowledge', 'scrapes', 'sync'] as const;
export type PipelineName = (typeof pipelines)[number];

const looks: Record<PipelineName, PipelineLook> = {
  uploads: { label: 'Uploads', noun: 'Upload', icon: 'upload' },
  pulls: { label: 'Pulls', noun: 'Pull', icon: 'download' },
  items: { label: 'Items', noun: 'Items', icon: 'grid' },
  knowledge: { label: 'Knowledge', noun: 'Indexing', icon: 'book' },
  scrapes: { label: 'Scrapes', noun: 'Scrape', icon: 'globe' },
  sync: { label: 'Connectors', noun: 'Sync', icon: 'plug' },
};

/** A pipeline that this console does not know is shown by its own name. */
export function pipelineLook(pipeline: string): PipelineLook {
  return looks[pipeline as PipelineName] ?? { label: pipeline, noun: pipeline, icon: 'list' };
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** What a job is called: what it is, and the name of what it is about. */
export function jobName({ pipeline, name }: Pick<Job, 'pipeline' | 'name'>): string {
  return `${pipelineLook(pipeline).noun} ${name}`;
}

/** The pipeline's own page about the same thing; null where the subject has none, such as a hand-off to knowledge. */
export function ownPage(
  job: Pick<Job, 'pipeline' | 'subjectId' | 'jobId'>,
): { label: string; href: string } | null {
  const subject = encodeURIComponent(job.subjectId);
  switch (job.pipeline) {
    case 'uploads':
      return { label: 'Open the upload', href: `/uploads/${subject}` };
    case 'pulls':
      return { label: 'Open the source', href: `/uploads/sources?source=${subject}` };
    case 'items':
      return { label: 'Open the grid', href: `/items/${job.jobId}` };
    case 'knowledge':
      return uuid.test(job.subjectId)
        ? null
        : { label: 'Open the knowledge base', href: `/knowledge/${subject}` };
    case 'scrapes':
      return { label: 'Open the source', href: `/scrapes/${subject}` };
    case 'sync':
      return { label: 'Open the connector', href: `/connectors/${subject}` };
    default:
      return null;
  }
}
