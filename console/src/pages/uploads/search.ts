import { oneOf, searchParser, text, wholeNumber } from '../../list-state.ts';
import type { Platform } from './platforms.ts';
import { type UploadStatus, uploadStatuses } from './upload-states.ts';

export interface UploadsSearch {
  status: UploadStatus;
  platform: Platform;
  q: string;
}

export const uploadsSearch = searchParser<UploadsSearch>({
  status: oneOf(uploadStatuses),
  platform: text(),
  q: text(),
});

export const dataTabs = [
  'campaigns',
  'ad-sets',
  'ads',
  'daily-metrics',
  'period-metrics',
  'breakdowns',
] as const;
export type DataTab = (typeof dataTabs)[number];

export interface UploadSearch {
  /** While it is held: what the person looks at. */
  step: 'columns' | 'check';
  /** Below the result: which of the lists, and how wide. */
  tab: DataTab;
  scope: 'upload' | 'workspace';
  /** The line of the file that a figure led to. */
  line: number;
  /** For a new one: what is known already, because it corrects an earlier one. */
  platform: Platform;
  into: string;
  client: string;
}

export const uploadSearch = searchParser<UploadSearch>({
  step: oneOf(['columns', 'check']),
  tab: oneOf(dataTabs),
  scope: oneOf(['upload', 'workspace']),
  line: wholeNumber({ min: 1, max: 2_147_483_647 }),
  platform: text(),
  into: text(),
  client: text(),
});

/** The platform whose profile is shown. */
export const platformsSearch = searchParser<{ name: string }>({ name: text() });
