import { newId } from '../../src/lib/ids.ts';
import type { Place, Sent } from './each-string.ts';

interface Means {
  firstRow(statement: string, id: unknown): Promise<Record<string, unknown>>;
}

const word: Place = { back: null, why: 'a word of a list' };

/** Where the texts of adapters can be found again. */
export function adapterPlaces({ firstRow }: Means): Record<string, Place> {
  const field =
    (path: string) =>
    async ({ params }: Sent) => {
      const statement = `select to_jsonb(a) #>> '{${path}}' as value from adapters a where name = $1`;
      return (await firstRow(statement, params.name)).value;
    };
  const put = 'PUT /api/ingestion/adapters/:name';
  const fresh = (place: Place): Place => ({ ...place, params: async () => ({ name: `naughty-${newId()}` }) });
  const kept = (path: string, more: Partial<Place> = {}) => fresh({ back: field(path), ...more });
  const shared = (kind: string, more: Partial<Place> = {}): Record<string, Place> => ({
    [`${put} /kind of ${kind}`]: fresh(word),
    [`${put} /pattern of ${kind}`]: kept('pattern', more),
    [`${put} /after of ${kind}`]: fresh(word),
  });
  const isAlike = true;
  const existing = (what: string): Place => ({ back: null, why: `has to be ${what} that there is` });
  return {
    ...shared('folder'),
    [`${put} /path of folder`]: kept('place,path'),
    [`${put} /target/kind of items`]: fresh(word),
    [`${put} /target/processor of items`]: fresh(existing('a processor')),
    [`${put} /target/options/*`]: fresh({ back: null, why: 'has to be an option of the processor' }),
    [`${put} /target/kind of uploads`]: fresh(word),
    [`${put} /target/platform of uploads`]: fresh(word),
    [`${put} /target/workspace_id of uploads`]: fresh(existing('a workspace')),
    ...shared('s3', { isAlike }),
    [`${put} /endpoint of s3`]: kept('place,endpoint', { why: 'most strings are no addresses' }),
    [`${put} /region of s3`]: kept('place,region', { why: 'most strings are no regions' }),
    [`${put} /bucket of s3`]: kept('place,bucket', { why: 'most strings are no names of buckets' }),
    [`${put} /prefix of s3`]: kept('place,prefix', { isAlike }),
    [`${put} /access_key_id_secret of s3`]: kept('place,accessKeyIdSecret', { isAlike }),
    [`${put} /secret_access_key_secret of s3`]: kept('place,secretAccessKeySecret', { isAlike }),
    ...shared('ftp', { isAlike }),
    [`${put} /host of ftp`]: kept('place,host'),
    [`${put} /path of ftp`]: kept('place,path', { isAlike }),
    [`${put} /user of ftp`]: kept('place,user', { isAlike }),
    [`${put} /password_secret of ftp`]: kept('place,passwordSecret', { isAlike }),
    [`${put} /ca_certificate of ftp`]: kept('place,caCertificate', { isAlike }),
    'POST /api/ingestion/scan /adapter': existing('an adapter'),
  };
}
