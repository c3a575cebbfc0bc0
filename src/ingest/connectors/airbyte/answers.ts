import { z } from 'zod';
import { parseForeignJson } from '../../../lib/json-depth.ts';
import { durationSecondsOf } from './duration.ts';
import type { AirbyteConnection, AirbyteConnectionPage, AirbyteJob } from './types.ts';

/** The content of a body, or the place where it breaks Airbyte's schema. */
export type Reading<T> = { ok: true; value: T } | { ok: false; reason: string };
export type Reader<T> = (text: string) => Reading<T>;

const word = z.string().min(1).max(200);
const moment = z
  .string()
  .max(100)
  .transform((text) => new Date(text))
  .refine((date) => !Number.isNaN(date.getTime()), 'is not a date');
const count = z.number().nonnegative().nullish();

const said = z.string().max(100_000).nullish();
/** Some servers include the attempts of a job; the public document does not promise them. */
const attempt = z.object({
  failureSummary: z
    .object({
      failures: z.array(z.object({ externalMessage: said, internalMessage: said, failureType: said })),
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
    attempts: z.array(attempt).nullish().catch(null),
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
  z.object({ data: z.array(jobSchema).max(maxListed) }).transform(({ data }) => data),
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
  z.object({ data: z.array(z.unknown()) }).transform(() => null),
);

/** For a resource that only has to be there. */
export const readAnything: Reader<null> = readerOf(z.looseObject({}).transform(() => null));

export function connectionPageReader(limit: number): Reader<AirbyteConnectionPage> {
  const page = z.object({ data: z.array(connectionSchema).max(maxListed), next: z.string().nullish() });
  return readerOf(
    page.transform(({ data, next }) => ({
      connections: data,
      // Either sign is enough: one request too many is cheaper than half a workspace.
      hasMore: data.length > 0 && (Boolean(next) || data.length >= limit),
    })),
  );
}

function readerOf<T>(schema: z.ZodType<T>): Reader<T> {
  return (text) => {
    const parsed = parseAnswer(text);
    if (parsed === undefined) return { ok: false, reason: 'it is not JSON' };
    const result = schema.safeParse(parsed);
    if (result.success) return { ok: true, value: result.data };
    const [issue] = result.error.issues;
    // Only the place and the rule: a value may be anything, a token included.
    return { ok: false, reason: `${issue?.path.join('.') || 'the body'}: ${issue?.message ?? 'unexpected'}` };
  };
}

/** Returns undefined for invalid JSON. A `jobId` becomes text first: a parser would round 2^53 + 1 to 2^53. */
function parseAnswer(text: string): unknown {
  return parseForeignJson(text.replace(/(?<!\\)"jobId"\s*:\s*(\d+)(?=\s*[,}])/g, '"jobId":"$1"'));
}
