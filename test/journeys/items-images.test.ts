import { createHash } from 'node:crypto';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { badImages, picture } from '../generators/images.ts';
import { zipOf } from '../generators/zip-archive.ts';
import { startFlakyProvider } from '../support/fakes/flaky-provider.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { jpeg, noRows, png, useImageJobs } from '../support/worlds/image-jobs.ts';

const database = useDatabase();
const { post, ask, itemsOf, jobOf, drive, storedFiles, rowsOf } = useImageJobs(database);

describe('several images', () => {
  test('may have form fields between and after them', async () => {
    const tenantId = await newTenant(database);
    const form = new FormData();
    const images = [await png(1), await png(2)].map((bytes) => new Blob([new Uint8Array(bytes)]));
    form.append('file', images[0] as Blob, '1.png');
    form.append('processor', 'noop');
    form.append('file', images[1] as Blob, '2.png');
    form.append('options', '{}');
    const answer = await ask(tenantId, '/api/jobs', { method: 'POST', body: form });
    const { jobId } = (await answer.json()) as { jobId: string };
    expect(answer.status).toBe(201);
    expect(await jobOf(tenantId, jobId)).toMatchObject({
      jobType: 'image',
      processor: 'noop',
      totalItems: 2,
    });
  });

  test('become a job of one item each, in their order, with facts and a thumbnail', async () => {
    const tenantId = await newTenant(database);
    const turned = await picture({ width: 300, height: 200 })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    const sent = [
      { name: 'zebra.png', bytes: await png(1), type: 'image/png' },
      { name: 'ape.jpg', bytes: turned, type: 'image/jpeg' },
      { name: 'zebra.png', bytes: await jpeg(3), type: 'image/png' },
    ];
    const made = await post(tenantId, sent);
    expect(made).toMatchObject({ status: 201 });
    const { jobId } = made.body;
    expect(await jobOf(tenantId, jobId)).toMatchObject({
      jobType: 'image',
      processor: 'image',
      fileName: 'zebra.png and 2 more',
      queueState: 'QUEUED',
      totalItems: 3,
      columns: ['name', 'size', 'sha256', 'fileId', 'order'],
    });
    await drive(tenantId);
    const items = await itemsOf(tenantId, jobId);
    expect(items.map(({ input }) => [input.name, input.order, input.size, input.sha256])).toEqual(
      sent.map(({ name, bytes }, at) => [name, at + 1, bytes.length, sha256(bytes)]),
    );
    expect(items.map(({ status, result }) => ({ status, ...result }))).toMatchObject([
      {
        status: 'DONE',
        name: 'zebra.png',
        format: 'png',
        width: 240,
        height: 120,
        orientation: 1,
        note: null,
      },
      { status: 'DONE', name: 'ape.jpg', format: 'jpeg', width: 200, height: 300, orientation: 6 },
      { status: 'DONE', format: 'jpeg', note: 'The name says png, and the content is jpeg' },
    ]);
    const thumbnail = await ask(tenantId, `/api/jobs/${jobId}/items/${items[1]?.id}/thumbnail`);
    expect(Object.fromEntries(thumbnail.headers)).toMatchObject({
      'content-type': 'image/webp',
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, max-age=31536000, immutable',
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
    });
    const drawn = await sharp(Buffer.from(await thumbnail.arrayBuffer())).metadata();
    expect(drawn).toMatchObject({ format: 'webp', width: 107, height: 160 });
    const known = { headers: { 'if-none-match': String(thumbnail.headers.get('etag')) } };
    const again = await ask(tenantId, `/api/jobs/${jobId}/items/${items[1]?.id}/thumbnail`, known);
    expect([again.status, await again.text()]).toEqual([304, '']);
    const original = await ask(tenantId, `/api/jobs/${jobId}/items/${items[1]?.id}/image`);
    expect(Object.fromEntries(original.headers)).toMatchObject({
      'content-type': 'image/jpeg',
      'content-disposition': `attachment; filename="ape.jpg"; filename*=UTF-8''ape.jpg`,
    });
    expect(Buffer.from(await original.arrayBuffer()).equals(turned)).toBe(true);
  });

  test('are exported with one column per fact', async () => {
    const tenantId = await newTenant(database);
    const { jobId } = (await post(tenantId, [{ name: '=1+1.png', bytes: await png(4) }])).body;
    await drive(tenantId);
    const csv = await (
      await ask(tenantId, `/api/jobs/${jobId}/export?format=csv`, { method: 'POST' })
    ).text();
    const [header, row] = csv.split('\r\n');
    expect(header).toBe(
      'row_no,status,name,size,sha256,format,width,height,orientation,pages,animated,hasAlpha,meanColour,dHash,note',
    );
    expect(row).toMatch(/^1,DONE,'=1\+1\.png,\d+,[0-9a-f]{64},png,240,120,1,1,/);
  });

  test('sent twice with one key are one job, and the second sending leaves no file', async () => {
    const tenantId = await newTenant(database);
    const sent = [
      { name: 'a.png', bytes: await png(5) },
      { name: 'b.png', bytes: await png(6) },
    ];
    const first = await post(tenantId, sent, { key: 'the-same' });
    const before = (await storedFiles()).length;
    expect((await post(tenantId, sent, { key: 'the-same' })).body).toEqual(first.body);
    expect((await storedFiles()).length).toBe(before);
    expect(await rowsOf(tenantId)).toEqual({ jobs: '1', items: '2', files: '2', images: '2' });
    const other = [...sent].reverse();
    expect(await post(tenantId, other, { key: 'the-same' })).toMatchObject({ status: 422 });
  });

  test('can be sent to a provider together with their names', async () => {
    const tenantId = await newTenant(database);
    const provider = await startFlakyProvider();
    try {
      const options = { request: { method: 'GET', url: `${provider.url}/items/{{name}}` } };
      const sent = [{ name: 'shoe.png', bytes: await png(7) }];
      const { jobId } = (await post(tenantId, sent, { processor: 'http', options })).body;
      await drive(tenantId);
      expect(await itemsOf(tenantId, jobId)).toMatchObject([{ status: 'DONE' }]);
      expect(await jobOf(tenantId, jobId)).toMatchObject({ jobType: 'image', processor: 'http' });
    } finally {
      await provider.close();
    }
  });

  test('become errors with a code and a sentence where they cannot be read, and the others succeed', async () => {
    const tenantId = await newTenant(database);
    const bad = await Promise.all(badImages.map(async ({ name, bytes }) => ({ name, bytes: await bytes() })));
    const sent = [
      { name: 'first.png', bytes: await png(8) },
      ...bad,
      { name: 'last.png', bytes: await png(9) },
    ];
    const { jobId } = (await post(tenantId, sent)).body;
    await drive(tenantId);
    const items = await itemsOf(tenantId, jobId);
    expect(items.map(({ input, status, errorCode }) => [input.name, status, errorCode])).toEqual([
      ['first.png', 'DONE', null],
      ...badImages.map(({ name, code }) => [name, 'ERROR', code]),
      ['last.png', 'DONE', null],
    ]);
    for (const { lastError, attempts, status } of items) {
      if (status === 'ERROR') expect(lastError).toMatch(/^[A-Z].{10,}/);
      expect(attempts).toBe(1);
    }
    expect(await jobOf(tenantId, jobId)).toMatchObject({ queueState: 'DONE', counts: { DONE: 2 } });
    const failed = items.find(({ status }) => status === 'ERROR');
    const none = await ask(tenantId, `/api/jobs/${jobId}/items/${failed?.id}/thumbnail`);
    expect([none.status, await none.json()]).toMatchObject([404, { code: 'thumbnail_not_found' }]);
  });
});

describe('a form that mixes', () => {
  const csv = { name: 'rows.csv', bytes: Buffer.from('a,b\n1,2\n'), type: 'text/csv' };

  test('rows and images is refused with a reason, whichever comes first, and leaves nothing', async () => {
    const tenantId = await newTenant(database);
    const image = { name: 'a.png', bytes: await png(10) };
    const zip = { name: 'all.zip', bytes: zipOf([{ name: 'a.png', content: image.bytes }]) };
    const before = (await storedFiles()).length;
    for (const sent of [
      [csv, image],
      [image, csv],
      [image, zip],
      [zip, image],
      [csv, csv],
    ]) {
      const { status, body } = await post(tenantId, sent);
      expect([status, body.code]).toEqual([400, 'form_invalid']);
      expect(body.detail).toContain('ZIP archive');
    }
    expect(await rowsOf(tenantId)).toEqual(noRows);
    expect((await storedFiles()).length).toBe(before);
  });

  test('a file of rows with the processor for images is refused', async () => {
    const tenantId = await newTenant(database);
    const { status, body } = await post(tenantId, [csv], { processor: 'image' });
    expect([status, body.code]).toEqual([422, 'processor_needs_images']);
  });
});

describe('a ZIP of images', () => {
  test('becomes a job in the order of its directory, without the files that systems add', async () => {
    const tenantId = await newTenant(database);
    const bytes = zipOf([
      { name: 'photos/', content: '' },
      { name: 'photos/two.png', content: await png(11) },
      { name: '__MACOSX/photos/two.png', content: 'junk' },
      { name: 'photos/._two.png', content: 'junk' },
      { name: '.DS_Store', content: 'junk' },
      { name: 'photos/Thumbs.db', content: 'junk' },
      { name: 'photos/one.jpg', content: await jpeg(12), isStored: true },
      { name: 'photos/two.png', content: await png(13) },
      { name: 'readme.txt', content: 'These are photographs.' },
      { name: 'more.zip', content: zipOf([{ name: 'x.png', content: await png(14) }]) },
    ]);
    const { body } = await post(tenantId, [{ name: 'photos.zip', bytes, type: 'application/zip' }]);
    await drive(tenantId);
    expect(await jobOf(tenantId, body.jobId)).toMatchObject({ jobType: 'image', fileName: 'photos.zip' });
    const items = await itemsOf(tenantId, body.jobId);
    expect(items.map(({ input, status, errorCode }) => [input.name, status, errorCode])).toEqual([
      ['photos/two.png', 'DONE', null],
      ['photos/one.jpg', 'DONE', null],
      ['photos/two.png', 'DONE', null],
      ['readme.txt', 'ERROR', 'image_not_recognised'],
      ['more.zip', 'ERROR', 'image_not_recognised'],
    ]);
    expect(items[0]?.input.sha256).not.toBe(items[2]?.input.sha256);
  });

  test('is refused and leaves nothing when it is broken, locked, a bomb or without images', async () => {
    const tenantId = await newTenant(database);
    const image = await png(15);
    const before = (await storedFiles()).length;
    const archives: [string, Buffer, string][] = [
      ['climbs', zipOf([{ name: '../../x.png', content: image }]), 'archive_broken'],
      ['is locked', zipOf([{ name: 'x.png', content: image, flags: 1 }]), 'archive_encrypted'],
      ['lies about a size', zipOf([{ name: 'x.png', content: image, statedBytes: 10 }]), 'archive_broken'],
      ['has a wrong checksum', zipOf([{ name: 'x.png', content: image, crc: 1 }]), 'archive_broken'],
      ['is cut off', zipOf([{ name: 'x.png', content: image }]).subarray(0, 200), 'archive_broken'],
      ['has only text', zipOf([{ name: 'a.csv', content: 'a,b\n1,2\n' }]), 'no_images'],
      ['has nothing', zipOf([{ name: '__MACOSX/', content: '' }]), 'no_images'],
      [
        'unfolds to zeros',
        zipOf([
          { name: 'x.png', content: image },
          { name: 'y.png', content: Buffer.alloc(63 * 1024 * 1024) },
        ]),
        'archive_unfolds_too_far',
      ],
      [
        'has an image that is too large',
        zipOf([{ name: 'y.png', content: Buffer.alloc(70 * 1024 * 1024), isStored: true }]),
        'image_file_too_large',
      ],
    ];
    for (const [what, bytes, code] of archives) {
      const { status, body } = await post(tenantId, [{ name: 'all.zip', bytes }]);
      expect({ what, status: Math.floor(status / 100), code: body.code }).toEqual({ what, status: 4, code });
    }
    expect(await rowsOf(tenantId)).toEqual(noRows);
    expect((await storedFiles()).length).toBe(before);
  });

  test('is refused before anything is stored when it has too many entries', async () => {
    const tenantId = await newTenant(database);
    const many = Array.from({ length: 10_001 }, (_, n) => ({ name: `${n}.png`, content: '' }));
    const { status, body } = await post(tenantId, [{ name: 'all.zip', bytes: zipOf(many) }]);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(body.code).toMatch(/too_many_images|archive_unfolds_too_far/);
    expect(await rowsOf(tenantId)).toEqual(noRows);
  });
});

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
