import { flag, isoDay, oneOf, searchParser, text } from '../../list-state.ts';

export interface PendingSearch {
  status: 'PENDING' | 'PROCESSING';
  jobType: 'csv' | 'image';
  jobId: string;
  from: string;
  to: string;
  /** Only one's own rows, for those who see all. */
  mine: true;
}

export const pendingSearch = searchParser<PendingSearch>({
  status: oneOf(['PENDING', 'PROCESSING']),
  jobType: oneOf(['csv', 'image']),
  jobId: text(),
  from: isoDay(),
  to: isoDay(),
  mine: flag(),
});
