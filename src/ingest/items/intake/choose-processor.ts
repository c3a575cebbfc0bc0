import type { SecretLender } from '../../../kernel/secrets/types.ts';
import type { Role } from '../../../kernel/tenancy/types.ts';
import type { SluiceError } from '../../../lib/errors.ts';
import { fetchErrors } from '../../../lib/fetch/errors.ts';
import { fetchFor, type GuardedFetch } from '../../../lib/fetch/guarded-fetch.ts';
import { itemErrors } from '../errors.ts';
import { imageErrors } from '../images/errors.ts';
import type { ProcessorRegistry } from '../processing/processors/registry.ts';
import type { FixedAddress, Processor } from '../processing/processors/types.ts';
import type { ItemJob } from '../types.ts';
import type { ItemFields } from './form.ts';

export interface ChoiceDeps {
  processors: ProcessorRegistry;
  secrets: Pick<SecretLender, 'assertUsable'>;
  /** Knows which addresses would be refused. */
  addresses?: GuardedFetch;
}

/** What a request says: of a form, as far as it has arrived. */
export interface Wish extends Pick<ItemFields, 'processor' | 'options'> {
  tenantId: string;
  /** Of whoever creates the job. */
  role: Role;
  fileName: string | null;
}

export interface Choice {
  processor: Processor;
  options: Record<string, unknown>;
}

type JobType = ItemJob['jobType'];

const usualProcessors = { csv: 'noop', image: 'image' } as const;

/** Refuses what can be refused before the file is read. */
export async function refuseEarly(deps: ChoiceDeps, wish: Wish): Promise<void> {
  if (wish.processor === null) return;
  const processor = deps.processors.get(wish.processor);
  if (wish.options !== undefined) await validate(deps, wish, processor);
}

/** The processor that the rows are ingested for; its options may arrive later. */
export function chooseForRows({ processors }: ChoiceDeps, wish: Wish, jobType: JobType): Processor {
  const processor = processors.get(wish.processor ?? usualProcessors[jobType]);
  if (processor.name === 'image' && jobType !== 'image') throw needsImages(wish);
  return processor;
}

/** The final choice, once the whole request was read. */
export async function chooseAtLast(
  deps: ChoiceDeps,
  wish: Wish,
  { jobType, processor: before }: { jobType: JobType; processor: Processor },
): Promise<Choice> {
  const processor = chooseForRows(deps, wish, jobType);
  if (processor !== before && (processor.normalize ?? before.normalize) !== undefined) {
    throw itemErrors.raise.form_invalid(
      `The part "processor" comes after the file; ${JSON.stringify(processor.name)} brings its own fields for rows, ` +
        'so it must be named before them',
      { fields: [{ pointer: '/processor', message: 'must come before the file' }] },
    );
  }
  return { processor, options: await validate(deps, wish, processor) };
}

/** For a choice that is saved, and used by jobs later. */
export async function checkChoice(
  deps: ChoiceDeps,
  wanted: { tenantId: string; role: Role; processor: string; options: Record<string, unknown> },
): Promise<void> {
  await validate(deps, { ...wanted, fileName: null }, deps.processors.get(wanted.processor));
}

async function validate(
  { secrets, addresses }: Pick<ChoiceDeps, 'secrets' | 'addresses'>,
  { tenantId, role, options: given = {} }: Wish,
  processor: Processor,
): Promise<Record<string, unknown>> {
  const options = (processor.validateOptions(given) ?? {}) as Record<string, unknown>;
  await assertSecrets(secrets, { tenantId, role, processor, options });
  await assertAddresses(processor.addresses?.(options) ?? [], addresses && fetchFor(addresses, tenantId));
  await processor.assertUsable?.(options, { tenantId });
  return options;
}

/** A job whose every call would be refused is not made. */
async function assertAddresses(
  named: readonly FixedAddress[],
  addresses: ChoiceDeps['addresses'],
): Promise<void> {
  for (const { url, pointer } of named) {
    const refusal = (await addresses?.findRefusal?.(url)) ?? null;
    if (refusal === null) continue;
    const advice =
      'Where jobs may call addresses of this network, the operator sets SLUICE_BLOCK_PRIVATE_ADDRESSES=false';
    throw fetchErrors.raise.address_blocked(`${refusal}. ${advice}`, {
      fields: [{ pointer, message: 'is an address that is refused' }],
    });
  }
}

/** For options that were validated. */
export async function assertSecrets(
  secrets: Pick<SecretLender, 'assertUsable'>,
  job: { tenantId: string; role: Role; processor: Processor; options: unknown },
): Promise<void> {
  const { tenantId, role, processor, options } = job;
  for (const wanted of processor.secrets?.(options) ?? []) {
    const { use = `processor:${processor.name}` } = wanted;
    await secrets.assertUsable({ tenantId, role, use }, wanted);
  }
}

function needsImages({ fileName }: Wish): SluiceError {
  return imageErrors.raise.processor_needs_images(
    `The processor image cannot work on ${JSON.stringify(fileName ?? 'the file')}, which has rows`,
    { fields: [{ pointer: '/processor', message: 'must be one for rows' }] },
  );
}
