/** Something with a name of its own that people search for by that name; `near` has one that looks like it. */
export interface Keyword {
  query: string;
  /** What a chunk must contain to be an answer. */
  code: string;
  text: string;
  near: string;
}

export const keywords: readonly Keyword[] = [
  {
    query: 'KX-4410',
    code: 'KX-4410',
    text: 'The pump KX-4410 moves ninety litres a minute and is delivered with two hoses and a filter.',
    near: 'The pump KX-4417 moves two hundred litres a minute and needs a stronger fuse than the others.',
  },
  {
    query: 'error E2207',
    code: 'E2207',
    text: 'The display shows E2207 when the door of the oven was opened during the cleaning programme.',
    near: 'The display shows E2270 when the fan of the oven turns too slowly or not at all.',
  },
  {
    query: 'invoice INV-2024-00871',
    code: 'INV-2024-00871',
    text: 'Invoice INV-2024-00871 for the repair of the gate was sent twice by mistake; only one of them counts.',
    near: 'Invoice INV-2024-00817 for the painting of the gate was settled in cash on the same afternoon.',
  },
  {
    query: 'ERR_LEASE_EXPIRED',
    code: 'ERR_LEASE_EXPIRED',
    text: 'The scheduler logs ERR_LEASE_EXPIRED when a process did not renew its claim in time; the work starts over.',
    near: 'The scheduler logs ERR_LEASE_DENIED when another process holds the claim already.',
  },
  {
    query: 'Vantrel 300',
    code: 'Vantrel 300',
    text: 'Vantrel 300 is a glue for wood and cork. It hardens within a day and can be painted over.',
    near: 'Vantrel 500 is a glue for metal. It hardens within minutes and stands heat.',
  },
  {
    query: 'form B-17a',
    code: 'B-17a',
    text: 'Whoever puts up a fence of more than two metres fills in form B-17a and hands it in with a drawing.',
    near: 'Whoever keeps hens within the town fills in form B-19c and hands it in at the window on the left.',
  },
  {
    query: 'max_parallel_shards',
    code: 'max_parallel_shards',
    text: 'The setting max_parallel_shards says how many parts of an index are rebuilt side by side; the default is 4.',
    near: 'The setting max_shard_bytes says how large a part of an index may grow before it is split.',
  },
  {
    query: 'Zelkova',
    code: 'Zelkova',
    text: 'The Zelkova in the yard was a gift of the twin town and is the tallest tree of its street by now.',
    near: 'The plane tree in the yard lost a branch in the storm and is held by two ropes.',
  },
  {
    query: 'flight QX 7319',
    code: 'QX 7319',
    text: 'Flight QX 7319 leaves from the small terminal and stops on the island to take fuel.',
    near: 'Flight QX 7391 leaves from the large terminal and goes straight to the capital.',
  },
  {
    query: 'part number 88-1204-6',
    code: '88-1204-6',
    text: 'The seal of the lid has the part number 88-1204-6 and fits all pots of the series.',
    near: 'The handle of the lid has the part number 88-1240-6 and comes with two screws.',
  },
  {
    query: 'TCK-90233',
    code: 'TCK-90233',
    text: 'TCK-90233: customers in the south saw prices without tax for an hour; a cached table was the cause.',
    near: 'TCK-90332: customers in the north saw an empty basket after they had signed in.',
  },
  {
    query: 'model Orivo M3',
    code: 'Orivo M3',
    text: 'The Orivo M3 is a folding bicycle with a belt in place of a chain; it weighs eleven kilograms.',
    near: 'The Orivo S1 is a folding bicycle for children with a chain guard and small wheels.',
  },
  {
    query: 'paragraph 14b',
    code: '14b',
    text: 'Paragraph 14b of the statutes says that a member who moves away keeps the right to vote for one year.',
    near: 'Paragraph 15a of the statutes says that members who are honoured pay no fee.',
  },
  {
    query: 'SKU 5520917',
    code: '5520917',
    text: 'The blue lantern, SKU 5520917, is sold out until the ship from the east has arrived.',
    near: 'The red lantern, SKU 5520971, is on sale at half its price.',
  },
  {
    query: 'nightly-reindex.service',
    code: 'nightly-reindex.service',
    text: 'The unit nightly-reindex.service starts at two and writes what it did into the journal.',
    near: 'The unit nightly-cleanup.service starts at four and empties the folder of the thumbnails.',
  },
  {
    query: 'Drossel protocol',
    code: 'Drossel',
    text: 'The Drossel protocol lets two meters agree on a time without a third one that tells it.',
    near: 'The Amsel protocol lets a meter report a fault without being asked for it.',
  },
  {
    query: 'ISO 99341',
    code: 'ISO 99341',
    text: 'ISO 99341 describes how ladders are tested: with a load of 150 kilograms, in the middle of each rung.',
    near: 'ISO 99431 describes how helmets are tested: with a falling weight, at three temperatures.',
  },
  {
    query: 'gate code 7-4-1-9',
    code: '7-4-1-9',
    text: 'The lock of the boathouse opens with 7-4-1-9; turn the wheels back when you leave.',
    near: 'The lock of the shed opens with 9-1-4-7; it sticks when it has rained.',
  },
  {
    query: 'Halvorsen bequest',
    code: 'Halvorsen',
    text: 'From the Halvorsen bequest a scholarship is paid every year to someone who learns to build instruments.',
    near: 'From the Mirbach bequest the heating of the hall is paid, and the flowers at the entrance.',
  },
  {
    query: 'CVE-2031-48812',
    code: 'CVE-2031-48812',
    text: 'CVE-2031-48812 lets a guest read the names of hidden albums; version 6.2 of the gallery closes it.',
    near: 'CVE-2031-48821 lets a guest fill the disk of the gallery with empty albums; there is no fix yet.',
  },
];
