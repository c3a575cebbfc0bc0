import { defineErrors, invalid, notFound, transient } from '../../../lib/errors.ts';

const nothingStored = 'Nothing was stored.';

/** What can be wrong with the files of an image job as a whole. Nothing of a refused request is kept. */
export const imageErrors = defineErrors({
  too_many_images: invalid(
    'There are too many images for one job',
    `Split them into several jobs. ${nothingStored}`,
    413,
  ),
  no_images: invalid(
    'The archive has no images',
    `Put the images themselves into the archive, not another archive or a document. ${nothingStored}`,
  ),
  image_file_too_large: invalid(
    'An image is too large',
    `Make the image smaller, or leave it out. ${nothingStored}`,
    413,
  ),
  image_name_refused: invalid(
    'The name of an image is not allowed',
    `Give the files in the archive shorter names of plain characters. ${nothingStored}`,
  ),
  processor_needs_images: invalid(
    'The processor works on images, and the file has rows',
    'Send images or a ZIP archive of them, or choose another processor.',
  ),
  thumbnail_not_found: notFound(
    'The item has no thumbnail',
    'Wait until the item is DONE. Items of other jobs, and images that could not be decoded, have no thumbnail.',
  ),
  image_not_found: notFound('The item has no image', 'Only items of image jobs have an image.'),
});

/** Why an image could not be processed: the codes of items that ended as ERROR. The others of their job go on. */
export const imageFailures = defineErrors({
  image_empty: invalid('The file has no bytes', 'Send the image again; it was empty.'),
  image_not_recognised: invalid(
    'The file is not an image',
    'Send JPEG, PNG, GIF, WebP, TIFF or AVIF. What counts is the content, not the name.',
  ),
  image_format_unsupported: invalid(
    'Images of this format are not supported',
    'Convert the image to JPEG, PNG, WebP or AVIF and send it again.',
  ),
  image_damaged: invalid(
    'The image is damaged or cut off',
    'Open it in another program and save it again, or send the original.',
  ),
  image_too_many_pixels: invalid('The image has too many pixels', 'Scale the image down and send it again.'),
  image_takes_too_long: invalid(
    'The image took too long to decode',
    'Reprocess it when the machine has less to do, or scale it down and send it again.',
  ),
  image_missing: invalid(
    'The item has no image',
    'Items of a file of rows have no image; use another processor.',
  ),
  image_decoder_failed: transient(
    'The image decoder stopped unexpectedly',
    'It is retried automatically. If it keeps failing, report it with the image.',
  ),
});
