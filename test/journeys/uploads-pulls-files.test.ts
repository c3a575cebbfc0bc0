import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FtpServer, findFtpServer, prepareFtpServer } from '../support/fakes/ftp-server.ts';
import { useS3Server } from '../support/fakes/s3-server.ts';
import { type Stage, usePulls } from '../support/servers/pull-server.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const server = useServerProcess(database, {
  SLUICE_BLOCK_PRIVATE_ADDRESSES: 'false',
  PULL_RETRY_BASE_SECONDS: '0.2',
  PULL_POLL_SECONDS: '0.5',
});
const { newStage, storeSecret, newSource, pull, uploads, stored } = usePulls(server, database);

const program = findFtpServer();
if (program === null)
  console.log(
    'Left out: pulls from a real FTP server. There is no vsftpd here (Debian: apt-get install vsftpd).',
  );

test('vsftpd is installed where no test may be left out', () => {
  expect(program !== null || process.env.CI !== 'true').toBe(true);
});

const report = (spend: string, id = '1') =>
  `Campaign ID,Day,Impressions,Amount spent (EUR)\n12021000000000000${id},2026-03-01,10,${spend}\n`;

/** What both kinds of places must do; `drop` puts a file there. */
function fileTests(
  open: (stage: Stage) => Promise<{ place: object; drop(name: string, text: string): Promise<unknown> }>,
) {
  test('every file is uploaded once, a changed one again, and others are left alone', async () => {
    const stage = await newStage();
    const { place, drop } = await open(stage);
    const source = await newSource(
      stage,
      { ...place, pattern: '*.csv' },
      { platform: 'meta', cadence_hours: 24 },
    );
    await drop('one.csv', report('1.50'));
    await drop('two.csv', report('2.25', '2'));
    await drop('notes.txt', 'no report');
    expect((await pull(stage, source)).last_result).toMatchObject({ message: '2 new uploads' });
    expect((await pull(stage, source)).last_result).toMatchObject({ message: 'No new file' });
    await uploads(stage);
    // Of another size: FTP tells the time of a file to the second.
    await drop('two.csv', report('19.25', '2'));
    expect((await pull(stage, source)).last_result).toMatchObject({ message: 'One new upload' });
    const made = await uploads(stage);
    expect(made.map(({ filename, origin }) => [filename, origin]).sort()).toEqual([
      ['one.csv', 'pull'],
      ['two.csv', 'pull'],
      ['two.csv', 'pull'],
    ]);
    expect(await stored(stage, '2026-03-01', '2026-03-01')).toMatchObject({ spend: 20.75 });
  });

  test('a file that is no report is named, and does not keep the others out', async () => {
    const stage = await newStage();
    const { place, drop } = await open(stage);
    const source = await newSource(stage, place, { platform: 'meta' });
    await drop('a-picture.csv', '\u0089PNG\r\n\u001a\n\0\0\0\rIHDR\0\0');
    await drop('b.csv', report('1.50'));
    const { last_result: result } = await pull(stage, source);
    expect(result).toMatchObject({ message: 'One new upload, 1 refused', refused: 1 });
    expect((await pull(stage, source)).last_result).toMatchObject({ message: 'No new file', refused: 0 });
  });

  test('a wrong secret ends the pull with the reason', async () => {
    const stage = await newStage();
    const { place } = await open(stage);
    const source = await newSource(stage, place, { platform: 'meta' });
    await storeSecret(stage, 'password', { value: 'wrong', host: '127.0.0.1' });
    const after = await pull(stage, source);
    expect(after.state).toBe('failing');
    expect(after.last_error).not.toBeNull();
    expect(await uploads(stage)).toEqual([]);
  });
}

describe('a pull of an S3 prefix', () => {
  const s3 = useS3Server();
  fileTests(async (stage) => {
    const { endpoint, region, bucket, accessKeyId, secretAccessKey } = s3.access;
    const { hostname: host } = new URL(endpoint);
    await storeSecret(stage, 'key', { value: accessKeyId, host });
    await storeSecret(stage, 'password', { value: secretAccessKey, host });
    const prefix = `${stage.tenantId}/`;
    return {
      place: {
        ...{ kind: 's3', endpoint, region, bucket, prefix, path_style: true },
        ...{ access_key_id_secret: 'key', secret_access_key_secret: 'password' },
      },
      drop: (name, text) => s3.client().put(`${prefix}${name}`, once(text)),
    };
  });
});

async function* once(text: string) {
  yield Buffer.from(text, 'latin1');
}

if (program !== null) {
  describe('a pull of an FTP directory', () => {
    let ftp: FtpServer;
    beforeAll(async () => {
      ftp = await prepareFtpServer({ program, tls: false, bytesPerSecond: 1_000_000 });
      await ftp.start();
    });
    afterAll(() => ftp.remove());
    fileTests(async (stage) => {
      await storeSecret(stage, 'password', { value: ftp.password, host: '127.0.0.1' });
      const folder = path.join(ftp.folder, stage.tenantId);
      await mkdir(folder);
      return {
        place: {
          ...{ kind: 'ftp', host: '127.0.0.1', port: ftp.port, path: folder, tls: false },
          user: ftp.user,
          password_secret: 'password',
        },
        drop: (name, text) => writeFile(path.join(folder, name), text, 'latin1'),
      };
    });
  });
}
