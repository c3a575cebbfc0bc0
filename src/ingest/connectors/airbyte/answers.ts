import { z } from 'zod';
import { parseJsonInTurns } from '../../../lib/json-in-turns.ts';
import { durationSecondsOf } from './duration.ts';
import type { AirbyteConnection, AirbyteConnectionPage, AirbyteJob } from './types.ts';

/** The content of a body, or the place where it breaks Airbyte's schema. */
export type Reading<T> = { ok: true; value: T } | { ok: false; reason: string };
export type Reader<T> = (body: Uint8Array) => Promise<Reading<T>>;

const word = z.string().min(1).max(200);
const moment = z
  .string()
  .max(100)
  .transform((text) => new Date(text))
  .refine((date) => !Number.isNaN(date.getTime()), 'is not a date');
const count = z.number().nonnegative().nullish();

/** Only the last ones are looked at, however many a server sends. */
const mostRead = 100;
const lastOf = <T>(each: z.ZodType<T>) =>
  z.preprocess((value) => (Array.isArray(value) ? value.slice(-mostRead) : value), z.array(each));

const said = z.string().max(100_000).nullish();
/** Some servers include the attempts of a job; the public document does not promise them. */
const attempt = z.object({
  failureSummary: z
    .object({
      failures: lastOf(z.object({ externalMessage: said, internalMessage: said, failureType: said })),
    })
    .nullish(),
});

const jobSchema = z
  .object({
    jobId: z.string().regex(/^[1-9]\d{0,18}$/, 'is not a positive int64'),
    status: word,
    jobType: word,
    connectionId: word,
    startTime: moment,
    lastUpdatedAt: moment.nullish(),
    duration: z.string().nullish(),
    bytesSynced: count,
    rowsSynced: count,
    attempts: lastOf(attempt).nullish().catch(null),
  })
  .transform(
    (job): AirbyteJob => ({
      runId: job.jobId,
      status: job.status,
      jobType: job.jobType,
      connectionId: job.connectionId,
      createdAt: job.startTime,
      lastUpdatedAt: job.lastUpdatedAt ?? null,
      // An unreadable duration is no reason to lose the sync.
      durationSeconds: job.duration ? durationSecondsOf(job.duration) : null,
      bytesSynced: job.bytesSynced ?? null,
      rowsSynced: job.rowsSynced ?? null,
      failure: failureOf(job.attempts ?? []),
    }),
  );

/** The last failure of the last attempt that has one. */
function failureOf(attempts: z.output<typeof attempt>[]): AirbyteJob['failure'] {
  const failures = attempts.flatMap(({ failureSummary }) => failureSummary?.failures ?? []);
  const last = failures.at(-1);
  const message = last?.externalMessage || last?.internalMessage;
  return message ? { message, type: last?.failureType ?? null } : null;
}

const connectionSchema = z
  .object({
    connectionId: word,
    name: z.string().max(10_000),
    status: word,
    workspaceId: word,
    schedule: z.object({ scheduleType: word.nullish() }).nullish(),
    sourceId: word.nullish(),
    destinationId: word.nullish(),
  })
  .transform(
    ({ schedule, sourceId, destinationId, ...rest }): AirbyteConnection => ({
      ...rest,
      scheduleType: schedule?.scheduleType ?? null,
      sourceId: sourceId ?? null,
      destinationId: destinationId ?? null,
    }),
  );

const maxListed = 1_000;
/** Counted before anything is checked: each element that does not fit would be an issue of its own. */
const listOf = <T>(each: z.ZodType<T>) =>
  z
    .unknown()
    .refine(
      (value) => !Array.isArray(value) || value.length <= maxListed,
      `has more than ${maxListed} elements`,
    )
    .pipe(z.array(each));
const tokenSchema = z.object({
  // Only what an HTTP header can carry.
  access_token: z
    .string()
    .max(8_000)
    .regex(/^[\x21-\x7e]+$/, 'is empty or has characters that no header can carry'),
  expires_in: z.number().positive(),
});

export interface GrantedToken {
  token: string;
  lifetimeMs: number;
}

export const readJob: Reader<AirbyteJob> = readerOf(jobSchema);
export const readJobs: Reader<AirbyteJob[]> = readerOf(
  z.object({ data: listOf(jobSchema) }).transform(({ data }) => data),
);
export const readConnection: Reader<AirbyteConnection> = readerOf(connectionSchema);
export const readToken: Reader<GrantedToken> = readerOf(
  tokenSchema.transform((granted) => ({
    token: granted.access_token,
    lifetimeMs: granted.expires_in * 1000,
  })),
);
/** For a probe: any body will do. */
export const readAnyList: Reader<null> = readerOf(
  z.object({ data: listOf(z.unknown()) }).transform(() => null),
);

/** For a resource that only has to be there. */
export const readAnything: Reader<null> = readerOf(z.looseObject({}).transform(() => null));

export function connectionPageReader(limit: number): Reader<AirbyteConnectionPage> {
  const page = z.object({ data: listOf(connectionSchema), next: z.string().nullish() });
  return readerOf(
    page.transform(({ data, next }) => ({
      connections: data,
      // Either sign is enough: one request too many is cheaper than half a workspace.
      hasMore: data.length > 0 && (Boolean(next) || data.length >= limit),
    })),
  );
}

function readerOf<T>(schema: z.ZodType<T>): Reader<T> {
  return async (body) => {
    const parsed = await parseJsonInTurns(body, parsePiece, { maxValues });
    if ('problem' in parsed) return { ok: false, reason: problems[parsed.problem] };
    const result = schema.safeParse(parsed.value);
    if (result.success) return { ok: true, value: result.data };
    const [issue] = result.error.issues;
    // Only the place and the rule: a value may be anything, a token included.
    return { ok: false, reason: `${issue?.path.join('.') || 'the body'}: ${issue?.message ?? 'unexpected'}` };
  };
}

/** A page of connections with the streams of each has a tenth of this. */
const maxValues = 2_000_000;
const problems = {
  not_json: 'it is not JSON',
  too_deep: 'it is not JSON that can be read: it is nested too deeply',
  too_many: `it has more than ${maxValues} values`,
};

/** A `jobId` becomes text first: a parser would round 2^53 + 1 to 2^53. */
function parsePiece(text: string): unknown {
  return JSON.parse(text.replace(/(?<!\\)"jobId"\s*:\s*(\d+)(?=\s*[,}])/g, '"jobId":"$1"'));
}
