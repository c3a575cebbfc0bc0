import { conflict, defineErrors, invalid, notFound, transient } from '../errors.ts';

export const s3Errors = defineErrors({
  s3_bucket_missing: invalid(
    'The S3 bucket does not exist',
    'Check the spelling of the bucket and the endpoint, or create the bucket; Sluice does not create buckets.',
  ),
  s3_access_denied: invalid(
    'The S3 server does not allow this',
    'Give the key the rights to list the bucket and to read, write and delete its objects below the prefix.',
  ),
  s3_credentials_refused: invalid(
    'The S3 server does not accept the credentials',
    'Check access key and secret for missing or extra characters, and that the key was not revoked.',
  ),
  s3_clock_skewed: invalid(
    'The clocks of this machine and of the S3 server differ too much',
    'Synchronise this machine’s clock (chrony, systemd-timesyncd); at most 15 minutes are accepted.',
  ),
  s3_region_wrong: invalid(
    'The S3 bucket is in another region',
    'Set the region that the message names, and an endpoint of that region.',
  ),
  s3_object_missing: notFound(
    'There is no such object in the S3 bucket',
    'Check the key; the object may have been removed in the meantime.',
  ),
  s3_object_changed: conflict(
    'The S3 object was replaced in the meantime',
    'Look at the object again and read it from its beginning.',
  ),
  s3_range_outside: invalid(
    'The S3 object has no bytes in this range',
    'Ask for a range that begins before the end of the object.',
  ),
  s3_object_too_large: invalid('The content is too large for one S3 object', 'Split the content.', 413),
  s3_key_unusable: invalid(
    'An S3 key cannot be used',
    'Use keys of 1 to 1024 bytes without a part that is only `.` or `..`.',
  ),
  s3_endpoint_invalid: invalid(
    'The address of the S3 server cannot be used',
    'Give a URL like https://s3.example.com:9000, without path, query and credentials, and the name of a bucket.',
  ),
  s3_request_refused: invalid(
    'The S3 server refused a request',
    'The message has the server’s own words; its documentation explains the code.',
  ),
  s3_answer_unreadable: transient(
    'The response of the S3 server cannot be understood',
    'Check that the endpoint is an S3 server and not a web page or a proxy in front of it.',
    502,
  ),
  s3_unavailable: transient(
    'The S3 server is unavailable',
    'Requests are retried automatically. Check the server if this continues.',
  ),
});
