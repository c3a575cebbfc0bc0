import { defineErrors } from '../../../lib/errors.ts';

const uploadCaptions =
  'Download the captions as VTT or SRT and add that file with POST /api/knowledge/{kb_id}/documents.';

/** Why captions were not read. The reason is stored with the document; it does not stop a run. */
export const youtubeErrors = defineErrors({
  captions_blocked: {
    kind: 'transient',
    status: 502,
    title: 'The video site does not serve its captions to programs',
    next: `The next run tries again. Or: ${uploadCaptions}`,
  },
  captions_missing: {
    kind: 'invalid',
    status: 422,
    title: 'The video has no captions in this language',
    next: `Choose another language, or create captions for the video. ${uploadCaptions}`,
  },
  video_unavailable: {
    kind: 'invalid',
    status: 422,
    title: 'The video cannot be watched',
    next: 'Check that the video exists and is public, or remove the source.',
  },
  video_url_invalid: {
    kind: 'invalid',
    status: 422,
    title: 'The address does not belong to a single video',
    next: 'Use an address such as https://www.youtube.com/watch?v=… or https://youtu.be/…, not a playlist.',
  },
});

export type YoutubeErrorCode = keyof typeof youtubeErrors.definitions;
