import pg from 'pg';

/** One connection for some work, which is closed afterwards. */
export async function withClient<T>(
  config: pg.ClientConfig,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client(config);
  // A connection that is lost between two statements would end the process; the next statement reports it.
  client.on('error', () => {});
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/** The same for the owner of the database, who may change the schema and the roles. */
export function withOwner<T>(ownerUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  return withClient({ connectionString: ownerUrl, application_name: 'sluice-migrate' }, work);
}
