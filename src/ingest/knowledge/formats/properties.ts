/** What file formats call it, and what it is called in metadata. */
const namesOf: Record<string, string> = {
  author: 'author',
  creator: 'author',
  'dc.creator': 'author',
  'article:author': 'author',
  subject: 'subject',
  'dc.subject': 'subject',
  keywords: 'keywords',
  'article:tag': 'keywords',
  description: 'description',
  'og:description': 'description',
  category: 'category',
  'article:section': 'category',
  language: 'language',
  'dc.language': 'language',
  created: 'created',
  date: 'created',
  'dc.date': 'created',
  'dcterms.created': 'created',
  'article:published_time': 'created',
  creationdate: 'created',
  modified: 'modified',
  'dcterms.modified': 'modified',
  'article:modified_time': 'modified',
  moddate: 'modified',
};

/** Collects the properties of a file under the names that all formats share; the first value of a name counts. */
export class Properties {
  readonly fields: Record<string, unknown> = {};

  add(name: string, value: unknown): void {
    const field = namesOf[name.toLowerCase()];
    if (field === undefined || Object.hasOwn(this.fields, field)) return;
    const text = typeof value === 'string' ? value.replace(/\s+/g, ' ').trim() : '';
    if (text === '') return;
    if (field === 'keywords') this.fields[field] = splitList(text);
    else this.fields[field] = field === 'created' || field === 'modified' ? dateOf(text) : text;
  }
}

function splitList(text: string): string[] {
  return text
    .split(/[,;]/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** PDF writes `D:20240131120000+01'00'`. Times begin with their date, so that they can be compared as text. */
function dateOf(text: string): string {
  const pdf = /^(?:D:)?(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)(\d\d)?)?/.exec(text);
  if (!text.startsWith('D:') || pdf === null) return text;
  const [, year = '', month = '01', day = '01', hour, minute, second = '00'] = pdf;
  const date = `${year}-${month}-${day}`;
  return hour === undefined ? date : `${date}T${hour}:${minute}:${second}${zoneOf(text)}`;
}

function zoneOf(text: string): string {
  const [, zone, hours = '', minutes = '00'] = /([Zz]|[+-](\d\d)'?(\d\d)?'?)$/.exec(text) ?? [];
  if (zone === undefined) return '';
  return /^z/i.test(zone) ? 'Z' : `${zone[0]}${hours}:${minutes}`;
}
