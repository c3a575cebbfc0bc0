import type { Place, Sent } from './each-string.ts';

interface Means {
  firstRow(statement: string, id: unknown): Promise<Record<string, unknown>>;
}

/** Where the texts of invitations can be found again. */
export function peoplePlaces({ firstRow }: Means): Record<string, Place> {
  const ofNewest =
    (column: string) =>
    async ({ claims }: Sent) => {
      const statement = `select ${column} as value from users where tenant_id = $1 and invited_at is not null
                          order by invited_at desc limit 1`;
      return (await firstRow(statement, claims.tenantId)).value;
    };
  const word: Place = { back: null, why: 'a word of a list' };
  const base = { user_id: 'somebody' };
  return {
    'PATCH /api/users/:user_id /role': word,
    'POST /api/users/invitations /email': { back: ofNewest('email'), why: 'most strings are no addresses' },
    'POST /api/users/invitations /user_id': {
      back: ofNewest('user_id'),
      why: 'some look like other ids, or are those of API keys',
    },
    'POST /api/users/invitations /name': { back: ofNewest('name'), base },
    'POST /api/users/invitations /role': { ...word, base },
  };
}
