import { z } from 'zod';
import { isSluiceError } from '../../../lib/errors.ts';
import { createS3Client } from '../../../lib/s3/client.ts';
import type { S3Client, S3Fetch, S3Object } from '../../../lib/s3/types.ts';
import { kindOfName } from '../formats/detect.ts';
import { storableText } from '../formats/safe-text.ts';
import type { DocumentLimits } from '../formats/types.ts';
import { fileBatches, type ListedFile } from './file-batches.ts';
import type { Source, SourceCursor } from './source.ts';

/** As stored with the source. */
export const s3Settings = z.object({
  endpoint: z.string().max(2_000).nullable().default(null),
  region: z.string().max(100).default('us-east-1'),
  bucket: z.string().max(255),
  prefix: z.string().max(900).default(''),
  path_style: z.boolean().default(false),
  access_key_id_secret: z.string().max(200),
  secret_access_key_secret: z.string().max(200),
});

export type S3Settings = z.output<typeof s3Settings>;

export interface S3Deps {
  fetch: S3Fetch;
  /** The keys of the bucket, which go to its host only, and what keeps them out of messages. */
  readKeys(): Promise<S3Keys>;
  limits?: Partial<DocumentLimits>;
  maxFiles?: number;
}

export interface S3Keys {
  accessKeyId: string;
  secretAccessKey: string;
  scrubError(error: unknown): unknown;
}

const usualMaxFiles = 1_000_000;

/** The documents below a prefix, by key. An object with the ETag that it was read with is not read again. */
export function s3Source(settings: S3Settings, deps: S3Deps): Source {
  return {
    batches: (context) => {
      const walk = new BucketWalk(settings, deps);
      return fileBatches(walk.files(context.cursor), {
        context,
        limits: deps.limits ?? {},
        end: () =>
          walk.trouble === null ? { isComplete: true } : { isComplete: false, reason: walk.trouble },
      });
    },
  };
}

class BucketWalk {
  /** Why not everything was listed: then objects that were not seen do not count as gone. */
  trouble: string | null = null;
  readonly #settings: S3Settings;
  readonly #deps: S3Deps;
  #files = 0;

  constructor(settings: S3Settings, deps: S3Deps) {
    this.#settings = settings;
    this.#deps = deps;
  }

  async *files(cursor: SourceCursor | null): AsyncGenerator<ListedFile[]> {
    const keys = await this.#deps.readKeys();
    try {
      const { endpoint, region, bucket, path_style: pathStyle } = this.#settings;
      const { fetch } = this.#deps;
      const { accessKeyId, secretAccessKey } = keys;
      const place = { endpoint, region, bucket, pathStyle, accessKeyId, secretAccessKey, fetch };
      yield* this.#list(createS3Client(place), typeof cursor?.key === 'string' ? cursor.key : null);
    } catch (error) {
      keys.scrubError(error);
      if (!isSluiceError(error) || error.kind === 'transient') throw error;
      this.trouble = storableText(`The bucket cannot be listed: ${error.message}`);
    }
    // A prefix that was misspelt looks the same.
    if (cursor === null && this.#files === 0) this.trouble ??= 'There are no documents below the prefix';
  }

  async *#list(client: S3Client, from: string | null): AsyncGenerator<ListedFile[]> {
    const { prefix } = this.#settings;
    let after = from;
    do {
      const page = await client.list({ prefix, ...(after === null ? {} : { after }) });
      const documents = page.objects.filter(({ key }) => isDocument(key));
      this.#files += documents.length;
      yield documents.map((object) => this.#listed(client, object));
      after = page.next;
      const { maxFiles = usualMaxFiles } = this.#deps;
      if (this.#files >= maxFiles && after !== null) {
        this.trouble = `There are more than ${maxFiles} documents below the prefix; the rest was not read`;
        return;
      }
    } while (after !== null);
  }

  #listed(client: S3Client, { key, etag, sizeBytes }: S3Object): ListedFile {
    const name = key.slice(this.#settings.prefix.lastIndexOf('/') + 1);
    return {
      uri: storableText(`s3:${name}`),
      name: key,
      mediaType: null,
      cursor: { key },
      sha256: null,
      findStamp: async () => ({ text: `s3:${etag}:${sizeBytes}`, isSettled: true }),
      open: async () => (await client.get(key, { ifMatch: etag })).stream,
    };
  }
}

/** Folders that consoles make are empty objects whose keys end in a slash. */
function isDocument(key: string): boolean {
  const name = key.slice(key.lastIndexOf('/') + 1);
  return name !== '' && !name.startsWith('.') && kindOfName(name) !== null;
}
