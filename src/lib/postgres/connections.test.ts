import { expect, test } from 'vitest';
import { resolveConnections } from './connections.ts';
import { appUrlFor, kernelUrlFor } from './roles.ts';

const owner = 'postgres://owner:secret@db:5432/sluice';
const direct = 'postgres://owner:other@direct:5433/sluice';
const app = 'postgres://mine:pw@db:5432/sluice';
const none = {
  databaseUrl: null,
  databaseAppUrl: null,
  databaseKernelUrl: null,
  databaseDirectUrl: null,
  dataDir: '/nowhere',
};

test('an owner’s URL alone gives two derived logins with different passwords', async () => {
  expect(await resolveConnections({ ...none, databaseUrl: owner })).toMatchObject({
    ownerUrl: owner,
    appUrl: appUrlFor(owner),
    kernelUrl: kernelUrlFor(appUrlFor(owner)),
    directKernelUrl: kernelUrlFor(appUrlFor(owner)),
    ownsLogins: true,
    embedded: null,
  });
  const passwords = [owner, appUrlFor(owner), kernelUrlFor(appUrlFor(owner))].map(
    (url) => new URL(url).password,
  );
  expect(new Set(passwords).size).toBe(3);
});

test('an application login alone is used as it is, and there is no owner to migrate with', async () => {
  expect(await resolveConnections({ ...none, databaseAppUrl: app })).toMatchObject({
    ownerUrl: null,
    appUrl: app,
    kernelUrl: app,
    directKernelUrl: app,
    ownsLogins: false,
  });
});

test('a kernel login beside the application login is used across tenants', async () => {
  const given = { databaseAppUrl: app, databaseKernelUrl: 'postgres://kernel:pw@db:5432/sluice' };
  expect(await resolveConnections({ ...none, ...given })).toMatchObject({
    appUrl: app,
    kernelUrl: given.databaseKernelUrl,
    directKernelUrl: given.databaseKernelUrl,
  });
});

test('a direct URL is the owner’s, and leads the same kernel login past the pooler', async () => {
  const found = await resolveConnections({ ...none, databaseUrl: owner, databaseDirectUrl: direct });
  const password = new URL(appUrlFor(direct)).password;
  const kernelPassword = new URL(kernelUrlFor(appUrlFor(direct))).password;
  expect(found.ownerUrl).toBe(direct);
  expect(found.appUrl).toBe(`postgres://sluice_app:${password}@db:5432/sluice`);
  expect(found.directKernelUrl).toBe(`postgres://sluice_kernel_login:${kernelPassword}@direct:5433/sluice`);
});

test('all three: the given login everywhere, with the host of its way', async () => {
  const found = await resolveConnections({
    ...none,
    databaseUrl: owner,
    databaseAppUrl: app,
    databaseDirectUrl: direct,
  });
  expect(found.appUrl).toBe(app);
  expect(found.directKernelUrl).toBe('postgres://mine:pw@direct:5433/sluice');
  expect(found.ownsLogins).toBe(false);
});
