import { defineErrors, invalid, transient } from '../../../lib/errors.ts';

const uploadCaptions =
  'Download the captions as VTT or SRT and add that file with POST /api/knowledge/{kb_id}/documents.';

/** Why captions were not read. The reason is stored with the document; it does not stop a run. */
export const youtubeErrors = defineErrors({
  captions_blocked: transient(
    'The video site does not serve its captions to programs',
    `The next run tries again. Or: ${uploadCaptions}`,
    502,
  ),
  captions_missing: invalid(
    'The video has no captions in this language',
    `Choose another language, or create captions for the video. ${uploadCaptions}`,
  ),
  video_unavailable: invalid(
    'The video cannot be watched',
    'Check that the video exists and is public, or remove the source.',
  ),
  video_url_invalid: invalid(
    'The address does not belong to a single video',
    'Use an address such as https://www.youtube.com/watch?v=… or https://youtu.be/…, not a playlist.',
  ),
});

export type YoutubeErrorCode = keyof typeof youtubeErrors.definitions;
