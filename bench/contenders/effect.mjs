// The row that a job writes when its effect is measured; the same for everybody.

/** A named statement for node-postgres: it is planned once per connection. */
export function effectQuery(subjectIds) {
  return {
    name: 'effect',
    text: 'insert into effects (subject_id) select unnest($1::text[])',
    values: [subjectIds],
  };
}
