import { defineErrors } from '../errors.ts';

export const s3Errors = defineErrors({
  s3_bucket_missing: {
    kind: 'invalid',
    status: 422,
    title: 'The S3 bucket does not exist',
    next: 'Check the spelling of the bucket and the endpoint, or create the bucket; Sluice does not create buckets.',
  },
  s3_access_denied: {
    kind: 'invalid',
    status: 422,
    title: 'The S3 server does not allow this',
    next: 'Give the key the rights to list the bucket and to read, write and delete its objects below the prefix.',
  },
  s3_credentials_refused: {
    kind: 'invalid',
    status: 422,
    title: 'The S3 server does not accept the credentials',
    next: 'Check access key and secret for missing or extra characters, and that the key was not revoked.',
  },
  s3_clock_skewed: {
    kind: 'invalid',
    status: 422,
    title: 'The clocks of this machine and of the S3 server differ too much',
    next: 'Synchronise this machine’s clock (chrony, systemd-timesyncd); at most 15 minutes are accepted.',
  },
  s3_region_wrong: {
    kind: 'invalid',
    status: 422,
    title: 'The S3 bucket is in another region',
    next: 'Set the region that the message names, and an endpoint of that region.',
  },
  s3_object_missing: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such object in the S3 bucket',
    next: 'Check the key; the object may have been removed in the meantime.',
  },
  s3_object_changed: {
    kind: 'conflict',
    status: 409,
    title: 'The S3 object was replaced in the meantime',
    next: 'Look at the object again and read it from its beginning.',
  },
  s3_range_outside: {
    kind: 'invalid',
    status: 422,
    title: 'The S3 object has no bytes in this range',
    next: 'Ask for a range that begins before the end of the object.',
  },
  s3_object_too_large: {
    kind: 'invalid',
    status: 413,
    title: 'The content is too large for one S3 object',
    next: 'Split the content.',
  },
  s3_key_unusable: {
    kind: 'invalid',
    status: 422,
    title: 'An S3 key cannot be used',
    next: 'Use keys of 1 to 1024 bytes without a part that is only `.` or `..`.',
  },
  s3_endpoint_invalid: {
    kind: 'invalid',
    status: 422,
    title: 'The address of the S3 server cannot be used',
    next: 'Give a URL like https://s3.example.com:9000, without path, query and credentials, and the name of a bucket.',
  },
  s3_request_refused: {
    kind: 'invalid',
    status: 422,
    title: 'The S3 server refused a request',
    next: 'The message has the server’s own words; its documentation explains the code.',
  },
  s3_answer_unreadable: {
    kind: 'transient',
    status: 502,
    title: 'The response of the S3 server cannot be understood',
    next: 'Check that the endpoint is an S3 server and not a web page or a proxy in front of it.',
  },
  s3_unavailable: {
    kind: 'transient',
    status: 503,
    title: 'The S3 server is unavailable',
    next: 'Requests are retried automatically. Check the server if this continues.',
  },
});
