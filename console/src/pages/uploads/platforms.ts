import type { Upload } from '../../api/types.ts';

export type Platform = Upload['platform'];

export const platformTitles: Record<Platform, string> = {
  meta: 'Meta Ads',
  google: 'Google Ads',
  tiktok: 'TikTok Ads',
};
export const platforms = Object.keys(platformTitles) as Platform[];
