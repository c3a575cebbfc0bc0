import pino from 'pino';
import { openOwnHouse } from '../../../src/ingest/own/open.ts';
import type { OwnDefinition } from '../../../src/ingest/own/types.ts';
import type { OpenHouse } from '../../../src/kernel/house/house.ts';
import type { Kernel } from '../../../src/kernel/jobs/kernel.ts';

/** The house of users' own pipelines; without definitions it has its routes and nothing to dispatch. */
export async function testOwnHouse(
  kernel: Kernel,
  listed: readonly OwnDefinition[] = [],
): Promise<OpenHouse> {
  const logger = pino({ level: 'silent' });
  return (await openOwnHouse({ kernel, logger, listed, openAppTables: async () => true, seams: () => {} }))
    .house;
}
