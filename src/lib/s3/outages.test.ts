import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer, text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { guardedFetch, serveSite } from '../../../test/support/fakes/local-site.ts';
import { createS3Client } from './client.ts';
import type { S3Client } from './types.ts';

type Step = (request: IncomingMessage, response: ServerResponse) => void;

const mebibyte = 1024 * 1024;
const patience = { timeout: 15_000 };
const list = '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>';
const dates = { 'last-modified': 'Fri, 24 May 2013 00:00:00 GMT', etag: '"abc"' };

/** A server that does one step per request; the last one stays. */
async function facing(
  ...given: [{ timeoutMs: number } | Step, ...Step[]]
): Promise<{ client: S3Client; requests: IncomingMessage[] }> {
  const [first, ...rest] = given;
  const steps = typeof first === 'function' ? [first, ...rest] : rest;
  let next = 0;
  const site = await serveSite('127.0.0.1', (request, response) => {
    const step = steps[Math.min(next, steps.length - 1)];
    next += 1;
    request.resume().once('end', () => step?.(request, response));
  });
  const client = createS3Client({
    endpoint: `http://127.0.0.1:${site.port}`,
    region: 'us-east-1',
    bucket: 'bucket',
    accessKeyId: 'key',
    secretAccessKey: 'secret',
    pathStyle: true,
    fetch: guardedFetch({ blockPrivateAddresses: false }),
    ...(typeof first === 'function' ? {} : first),
  });
  return { client, requests: site.requests };
}

function answer(status: number, body = '', headers: Record<string, string | number> = {}): Step {
  return (_, response) => response.writeHead(status, headers).end(body);
}

function complaint(status: number, code: string): Step {
  return answer(status, `<Error><Code>${code}</Code><Message>words</Message></Error>`);
}

const reset: Step = (request) => request.socket.resetAndDestroy();

/** Announces ten bytes and breaks off after so many. */
function half(sent: string, headers: Record<string, string | number> = {}): Step {
  return (request, response) => {
    response.writeHead(200, { ...dates, 'content-length': 10, ...headers });
    response.write(sent, () => request.socket.destroy());
  };
}

describe('a request is retried', () => {
  test.each([
    ['SlowDown', complaint(503, 'SlowDown')],
    ['an internal error', complaint(500, 'InternalError')],
    ['a gateway that speaks HTML', answer(502, '<html><body>Bad Gateway<br></body></html>')],
    ['a request timeout, which is a 400', complaint(400, 'RequestTimeout')],
    ['a connection that is reset', reset],
    ['an error in a response with status 200', complaint(200, 'InternalError')],
  ])('after %s', async (_, trouble) => {
    const { client, requests } = await facing(trouble, trouble, answer(200, list));
    expect(await client.list()).toEqual({ objects: [], next: null });
    expect(requests).toHaveLength(3);
  });

  test('four times in all, and then the last failure is the error', async () => {
    const { client, requests } = await facing(complaint(503, 'SlowDown'));
    await expect(client.list()).rejects.toMatchObject({
      code: 's3_unavailable',
      definition: { kind: 'transient' },
      message: 'The bucket bucket cannot be used now (SlowDown: words)',
    });
    expect(requests).toHaveLength(4);
  });

  test.each([
    ['s3_access_denied', complaint(403, 'AccessDenied')],
    ['s3_access_denied', complaint(200, 'AccessDenied')],
    ['s3_request_refused', complaint(400, 'InvalidArgument')],
    ['s3_request_refused', answer(405)],
    ['s3_region_wrong', answer(301, '', { 'x-amz-bucket-region': 'eu-west-1' })],
    ['s3_bucket_missing', answer(404, '<html>')],
  ])('but not after a refusal: %s', async (code, refusal) => {
    const { client, requests } = await facing(refusal);
    await expect(client.list()).rejects.toMatchObject({ code });
    expect(requests).toHaveLength(1);
  });

  test('once for a wrong clock, and then fails with both times', async () => {
    const skewed: Step = (_, response) => {
      response.sendDate = false;
      const words = '<Error><Code>RequestTimeTooSkewed</Code><Message>words</Message></Error>';
      response.writeHead(403, { date: 'Sun, 06 Nov 1994 08:49:37 GMT' }).end(words);
    };
    const { client, requests } = await facing(skewed);
    const list = client.list();
    await expect(list).rejects.toMatchObject({ code: 's3_clock_skewed' });
    await expect(list).rejects.toThrow('Sun, 06 Nov 1994 08:49:37 GMT at the server');
    expect(requests).toHaveLength(2);
    expect(requests[1]?.headers['x-amz-date']).toMatch(/^19941106T0849/);
  });
});

describe('a download that breaks off', () => {
  test('resumes after the last byte received, if the object is still the same', async () => {
    const { client, requests } = await facing(
      half('0123'),
      half('45', { 'content-range': 'bytes 4-9/10' }),
      answer(206, '6789', { ...dates, 'content-range': 'bytes 6-9/10', 'content-length': 4 }),
    );
    // The second answer must not be taken for a whole object.
    const { stream, sizeBytes } = await client.get('key');
    expect(sizeBytes).toBe(10);
    await expect(text(stream)).rejects.toMatchObject({ code: 's3_answer_unreadable' });
    expect(requests[1]?.headers).toMatchObject({ range: 'bytes=4-9', 'if-match': '"abc"' });
  });

  test('is whole in the end', async () => {
    const { client, requests } = await facing(half('0123'), reset, (_, response) =>
      response
        .writeHead(206, { ...dates, 'content-range': 'bytes 4-9/10', 'content-length': 6 })
        .end('456789'),
    );
    expect(await text((await client.get('key')).stream)).toBe('0123456789');
    expect(requests).toHaveLength(3);
  });

  test('is noticed even when the server closes the response normally', async () => {
    const short = answer(206, '45', { ...dates, 'content-range': 'bytes 4-9/10' });
    const rest = answer(206, '6789', { ...dates, 'content-range': 'bytes 6-9/10' });
    const { client } = await facing(half('0123'), short, rest);
    expect(await text((await client.get('key')).stream)).toBe('0123456789');
  });

  test('is an error when more bytes arrive than announced', async () => {
    const { client } = await facing(answer(206, '45678', { ...dates, 'content-range': 'bytes 4-6/10' }));
    const { stream } = await client.get('key', { range: { start: 4, end: 6 } });
    await expect(text(stream)).rejects.toMatchObject({ code: 's3_object_changed' });
  });

  test('is an error when the object was replaced in the meantime', async () => {
    const { client } = await facing(half('0123'), complaint(412, 'PreconditionFailed'));
    await expect(text((await client.get('key')).stream)).rejects.toMatchObject({ code: 's3_object_changed' });
  });

  test('is an error and not a short file when the server stays away', async () => {
    const { client } = await facing(half('0123'), reset);
    await expect(text((await client.get('key')).stream)).rejects.toMatchObject({ code: 'fetch_failed' });
  });

  test('is not decompressed, even if it is declared as compressed', async () => {
    const body = 'not gzip at all';
    const { client, requests } = await facing(
      answer(200, body, { ...dates, 'content-encoding': 'gzip', 'content-length': body.length }),
    );
    expect((await buffer((await client.get('key')).stream)).toString()).toBe(body);
    expect(requests[0]?.headers['accept-encoding']).toBe('identity');
  });
});

describe('a server that hangs', () => {
  // Long enough for a server that does answer, although it stands still with this process for a moment.
  const timeoutMs = 1_500;
  const nothing: Step = () => {};
  const silent =
    (sent: string): Step =>
    (_, response) => {
      response.writeHead(200, { ...dates, 'content-length': 10 }).write(sent);
    };

  test('before its response is asked again', async () => {
    const { client, requests } = await facing({ timeoutMs }, nothing, answer(200, list));
    expect((await client.list()).objects).toEqual([]);
    expect(requests).toHaveLength(2);
  });

  test('before the headers of a download is asked again', async () => {
    const whole = answer(200, '0123456789', { ...dates, 'content-length': 10 });
    const { client, requests } = await facing({ timeoutMs }, nothing, whole);
    expect(await text((await client.get('key')).stream)).toBe('0123456789');
    expect(requests).toHaveLength(2);
  });

  test('in the middle of a download is asked for the rest, and is unavailable when it stays silent', async () => {
    const { client, requests } = await facing({ timeoutMs }, silent('0123'), nothing);
    const reading = text((await client.get('key')).stream);
    await expect(reading).rejects.toMatchObject({
      code: 's3_unavailable',
      message: 'The server has sent nothing for 1500 ms',
    });
    expect(requests[1]?.headers.range).toBe('bytes=4-9');
  });
});

describe('an upload in parts', () => {
  const begun = answer(200, initiated('u1'));
  const part = answer(200, '', { etag: '"part"' });

  test('an upload in parts whose last response was lost is complete if the object is there', async () => {
    const { client, requests } = await facing(
      begun,
      part,
      part,
      reset,
      complaint(404, 'NoSuchUpload'),
      answer(200, '', { ...dates, 'content-length': 9 * mebibyte }),
    );
    const put = await client.put('key', pieces(9));
    expect(put).toEqual({ sizeBytes: 9 * mebibyte, etag: 'abc' });
    expect(requests.map(({ method }) => method)).toEqual(['POST', 'PUT', 'PUT', 'POST', 'POST', 'HEAD']);
  });

  test('fails when the server sends no etag for a part', async () => {
    const done = answer(
      200,
      '<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>',
    );
    const { client, requests } = await facing(begun, answer(200), answer(200), done);
    await expect(client.put('key', pieces(9))).rejects.toMatchObject({ code: 's3_answer_unreadable' });
    expect(requests.at(-1)?.method).toBe('DELETE');
  });

  test('holds back its source while the server is slow', async () => {
    let taken = 0;
    let isEnough = false;
    const held: (() => void)[] = [];
    const hold: Step = (...exchange) => held.push(() => part(...exchange));
    const { client, requests } = await facing(begun, hold, hold, part, answer(204));
    const content = (async function* () {
      for (; taken < 80; taken += 1) {
        if (isEnough) throw new Error('seen enough');
        yield Buffer.alloc(mebibyte);
      }
    })();
    const putting = client.put('key', content);
    putting.catch(() => {});
    await expect.poll(() => held.length, patience).toBe(1);
    // One part is sent and one is full; what comes behind it stays with its source.
    expect(taken).toBeLessThanOrEqual(17);
    held[0]?.();
    await expect.poll(() => held.length, patience).toBe(2);
    await expect.poll(() => taken, patience).toBe(24);
    isEnough = true;
    held[1]?.();
    await expect(putting).rejects.toThrow('seen enough');
    expect(requests.at(-1)?.method).toBe('DELETE');
  });
});

describe('a page of a list that is empty and not the last', () => {
  const empty = '<ListBucketResult><IsTruncated>true</IsTruncated>';
  const withToken = `${empty}<NextContinuationToken>a+b=</NextContinuationToken></ListBucketResult>`;
  const when = '<LastModified>2013-05-24T00:00:00Z</LastModified>';
  const object = `<Contents><Key>k</Key><Size>1</Size><ETag>"e"</ETag>${when}</Contents>`;

  test('is followed to the one that has something', async () => {
    const found = `<ListBucketResult><IsTruncated>false</IsTruncated>${object}</ListBucketResult>`;
    const { client, requests } = await facing(
      answer(200, withToken),
      answer(200, withToken),
      answer(200, found),
    );
    expect(await client.list({ prefix: 'p' })).toMatchObject({ objects: [{ key: 'k' }], next: null });
    expect(requests.map(({ url }) => url?.includes('continuation-token=a%2Bb%3D'))).toEqual([
      false,
      true,
      true,
    ]);
  });

  test('is not taken for the end when it has no token', async () => {
    const { client } = await facing(answer(200, `${empty}</ListBucketResult>`));
    await expect(client.list()).rejects.toMatchObject({ code: 's3_answer_unreadable' });
  });
});

describe('a response that is not S3', () => {
  test.each([
    ['a web page', '<!DOCTYPE html><html><body>Welcome<br></body></html>'],
    ['another document', '<Other/>'],
    ['nothing', ''],
    [
      'entities of its own',
      '<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx">]><ListBucketResult><Name>&x;</Name></ListBucketResult>',
    ],
    [
      'a size that is none',
      '<ListBucketResult><Contents><Key>k</Key><Size>-1</Size></Contents></ListBucketResult>',
    ],
    ['a thousand levels', `${'<a>'.repeat(1000)}${'</a>'.repeat(1000)}`],
  ])('is reported: %s', async (_, body) => {
    const { client } = await facing(answer(200, body));
    await expect(client.list()).rejects.toMatchObject({ code: 's3_answer_unreadable' });
  });
});

function initiated(uploadId: string): string {
  return `<InitiateMultipartUploadResult><UploadId>${uploadId}</UploadId></InitiateMultipartUploadResult>`;
}

async function* pieces(count: number): AsyncGenerator<Buffer> {
  for (let n = 0; n < count; n += 1) yield Buffer.alloc(mebibyte);
}
