// The minimum of a worker on PostgreSQL: LISTEN, and a claim in plain SQL after a notification.
import pg from 'pg';
import { settings, tellBegin, untilGo } from './protocol.mjs';

const client = new pg.Client({ connectionString: settings.ownerUrl });
await client.connect();
let claiming = Promise.resolve();
client.on('notification', () => {
  claiming = claiming.then(claim);
});
await client.query('listen raw_queue');
await untilGo();

async function claim() {
  const { rows } = await client.query({
    name: 'claim',
    text: `update raw_queue
              set status = 'running'
            where id = (
              select id from raw_queue where status = 'queued' order by id limit 1 for update skip locked)
           returning subject_id`,
  });
  for (const { subject_id: subjectId } of rows) tellBegin(subjectId);
}
