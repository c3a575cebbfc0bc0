import { createHash, createHmac } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import S3rver from 's3rver';

/**
 * s3rver as a process of its own, with what it leaves out and Amazon's S3 has: signatures and hashes are checked,
 * keys in lists are encoded, If-Match counts, unfinished uploads are listed and aborted, half a body is no object.
 */
const [, , port, directory, ...buckets] = process.argv;
const keys = { id: 'S3RVER', secret: 'S3RVER', region: 'us-east-1' };

await mkdir(directory, { recursive: true });
const server = new S3rver({
  address: '127.0.0.1',
  port: Number(port),
  directory,
  silent: true,
  serviceEndpoint: 'example.test',
  configureBuckets: buckets.map((name) => ({ name })),
});
// Before the router, which is last, and behind what turns objects and errors into XML.
server.middleware.splice(-1, 0, checkSignature, answerUploads, checkMatch, encodeKeys);
Object.assign(server.store, { putObject, putPart });
server.on('error', () => {});
const address = await server.run();
process.stdout.write(`listening on ${address.port}\n`);

function refuse(ctx, status, code, more = '') {
  ctx.status = status;
  ctx.type = 'application/xml';
  ctx.body = `<Error><Code>${code}</Code><Message>by the test</Message>${more}</Error>`;
}

/** From the text of the specification and not from the product's code. */
async function checkSignature(ctx, next) {
  const shape = /^AWS4-HMAC-SHA256 Credential=(\S+), SignedHeaders=(\S+), Signature=(\w+)$/;
  const match = shape.exec(ctx.get('authorization'));
  if (!match) return refuse(ctx, 403, 'AccessDenied');
  const [, credential, names, signature] = match;
  const [id, day, region] = credential.split('/');
  if (id !== keys.id) return refuse(ctx, 403, 'InvalidAccessKeyId');
  if (region !== keys.region) {
    return refuse(ctx, 400, 'AuthorizationHeaderMalformed', `<Region>${keys.region}</Region>`);
  }
  const time = ctx.get('x-amz-date');
  const unsigned = Object.keys(ctx.req.headers).filter(
    (name) => name.startsWith('x-amz-') && !names.split(';').includes(name),
  );
  const [pathname, search = ''] = ctx.originalUrl.split('?');
  const canonical = [
    ctx.method,
    pathname,
    search.split('&').sort().join('&'),
    ...names.split(';').map((name) => `${name}:${ctx.req.headers[name]}`),
    '',
    names,
    ctx.get('x-amz-content-sha256'),
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const sign = (key, text) => createHmac('sha256', key).update(text).digest();
  const signing = [day, region, 's3', 'aws4_request'].reduce(sign, `AWS4${keys.secret}`);
  const hash = createHash('sha256').update(canonical).digest('hex');
  const expected = sign(signing, ['AWS4-HMAC-SHA256', time, scope, hash].join('\n')).toString('hex');
  if (unsigned.length > 0 || expected !== signature) return refuse(ctx, 403, 'SignatureDoesNotMatch');
  await next();
}

function uploadsFolder(bucket) {
  return path.join(directory, bucket, '._S3rver_uploads');
}

async function answerUploads(ctx, next) {
  const [, bucket] = ctx.path.split('/');
  const folder = uploadsFolder(bucket);
  if (ctx.method === 'DELETE' && 'uploadId' in ctx.query) {
    const upload = path.join(folder, path.basename(ctx.query.uploadId));
    if (!(await stat(upload).catch(() => null))) return refuse(ctx, 404, 'NoSuchUpload');
    await rm(upload, { recursive: true });
    ctx.status = 204;
    return;
  }
  if (ctx.method !== 'GET' || !('uploads' in ctx.query)) return next();
  const uploads = [];
  for (const uploadId of await readdir(folder).catch(() => [])) {
    const key = await readFile(path.join(folder, uploadId, 'key'), 'utf8');
    const { mtime } = await stat(path.join(folder, uploadId));
    const isBehind = [key, uploadId] > [ctx.query['key-marker'] ?? '', ctx.query['upload-id-marker'] ?? ''];
    if (key.startsWith(ctx.query.prefix ?? '') && isBehind) uploads.push({ key, uploadId, mtime });
  }
  uploads.sort((a, b) => (a.key + a.uploadId < b.key + b.uploadId ? -1 : 1));
  ctx.body = {
    ListMultipartUploadsResult: {
      EncodingType: 'url',
      IsTruncated: uploads.length > 2,
      Upload: uploads.slice(0, 2).map(({ key, uploadId, mtime }) => ({
        Key: encodeKey(key),
        UploadId: uploadId,
        Initiated: mtime.toISOString(),
      })),
    },
  };
}

async function checkMatch(ctx, next) {
  const [, start] = /^bytes=(\d+)-/.exec(ctx.get('range')) ?? [];
  const [, bucket, ...key] = decodeURIComponent(ctx.path).split('/');
  const file = server.store.getResourcePath(bucket, key.join('/'), 'object');
  const { size } = start === undefined ? { size: 0 } : await stat(file).catch(() => ({ size: Infinity }));
  if (Number(start) >= size) return refuse(ctx, 416, 'InvalidRange');
  await next();
  const wanted = ctx.get('if-match');
  if (ctx.method !== 'GET' || wanted === '' || ctx.status >= 300 || ctx.response.get('etag') === wanted)
    return;
  ctx.body?.destroy?.();
  refuse(ctx, 412, 'PreconditionFailed');
}

async function encodeKeys(ctx, next) {
  await next();
  const list = ctx.body?.ListBucketResult;
  if (!list || ctx.query['encoding-type'] !== 'url') return;
  list.EncodingType = 'url';
  for (const entry of list.Contents) entry.Key = encodeKey(entry.Key);
}

function encodeKey(key) {
  return key.split('/').map(encodeURIComponent).join('/').replaceAll('%20', '+');
}

/** s3rver keeps half a body, trusts every hash, and responds before all is written. */
async function putObject(object) {
  const content = await wholeOf(object.content);
  const file = server.store.getResourcePath(object.bucket, object.key, 'object');
  const md5 = createHash('md5').update(content).digest('hex');
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(`${file}.draft`, content);
  await rename(`${file}.draft`, file);
  await server.store.putMetadata(object.bucket, object.key, object.metadata, md5);
  return { size: content.length, md5 };
}

async function putPart(bucket, uploadId, partNumber, request) {
  const content = await wholeOf(request);
  const md5 = createHash('md5').update(content).digest('hex');
  await writeFile(path.join(uploadsFolder(bucket), uploadId, String(partNumber)), content);
  return { size: content.length, md5 };
}

async function wholeOf(source) {
  const pieces = [];
  for await (const piece of source) pieces.push(piece);
  const content = Buffer.concat(pieces);
  const wanted = source.headers?.['x-amz-content-sha256'];
  const isWhole = wanted === undefined || createHash('sha256').update(content).digest('hex') === wanted;
  if (!isWhole) throw new Error('The body is not what its hash says');
  return content;
}
