import type { Dice } from './dice.ts';

/** What the rest of the documents is about: {words} are drawn from the lists below. */
export const fillerTopics: readonly { title: string; sentences: readonly string[] }[] = [
  {
    title: 'Minutes of the {group}',
    sentences: [
      'The {group} met in {place} and went through the {thing} of {month} before lunch.',
      '{name} reported that the {thing} will be ready by {month} if nobody else falls behind.',
      'It was agreed that {name} writes to {name} about the {thing}, and that nothing is announced before that.',
      'The next session is in {month}; {name} takes the notes and brings the figures of {place}.',
      'There was a long talk about the colour of the {thing}, and no decision.',
    ],
  },
  {
    title: 'Chronicle of {place}',
    sentences: [
      'In {year} the old bridge of {place} was rebuilt in stone, paid for by the family of {name}.',
      'The mill of {place} ground corn until {year}, and {craft} moved into it later.',
      'A school with {number} pupils was opened in {year}; {name} was its first teacher.',
      'After the great drought of {year} the council of {place} dug {number} wells around the church.',
      'The railway reached {place} in {year}, and with it came {craft} from the lowlands.',
    ],
  },
  {
    title: 'Letter from {place}',
    sentences: [
      'We reached {place} late on a {weather} evening and found a room above a shop of {craft}.',
      '{name} wanted to see the harbour, and I wanted to sit in front of the café and draw.',
      'In {month} the hills are {colour}, and one meets more {animal}s than people.',
      'The market had {fruit}, cheese and {number} kinds of honey, and {name} tried them all.',
      'Tomorrow we walk on to {place}, unless it stays as {weather} as today.',
    ],
  },
  {
    title: 'A cake with {fruit}',
    sentences: [
      'Cut {number} {fruit} into thin slices and sprinkle them with sugar and cinnamon.',
      'Beat the butter until it is {colour} and soft, then stir in the eggs one by one.',
      'My aunt {name} from {place} adds a spoon of yoghurt, which makes the dough lighter.',
      'Spread the {fruit} over it in circles, and strew almonds on top.',
      'It tastes best on the second day, with coffee and in good company.',
    ],
  },
  {
    title: '{place} against {place}',
    sentences: [
      '{place} won by {number} points in a game that nobody will remember for its beauty.',
      '{name} scored early, and the home team never found an answer to the speed of {name}.',
      'In {weather} conditions {number} spectators saw two red cards and a penalty that hit the post.',
      'The coach praised {name}, who had come back after a break of one season.',
      'On the table {place} stays behind, with one game in hand.',
    ],
  },
  {
    title: 'Weather of {month}',
    sentences: [
      '{month} was {weather} in {place}, with {number} hours of sunshine more than usual.',
      'The station at {place} measured {number} millimetres of rain in one night.',
      'A {weather} wind from the west brought clouds for the rest of the week.',
      'Farmers around {place} hope for a {weather} {month}, since the {fruit} are late.',
    ],
  },
  {
    title: 'A novel about {craft}',
    sentences: [
      'The novel tells of {name}, who leaves {place} in {year} to learn from {craft}.',
      'Its best chapters are the slow ones, in which {name} describes the {colour} light of {month}.',
      'The end comes too fast, and the letter from {place} is a cheap trick.',
      'Readers who like {animal}s will forgive the author a good deal.',
      'The translation by {name} keeps the rhythm of the original and most of its jokes.',
    ],
  },
  {
    title: 'Notes from the laboratory',
    sentences: [
      'Sample {number} turned {colour} after the acid was added, as {name} had predicted.',
      'The second series was measured at {number} kelvin and shows the same bend.',
      'We repeated the run with a clean glass, because the first one had held {fruit} juice.',
      '{name} suspects the scale; it was last calibrated in {year}.',
      'The curve fits the model of {name} within the error bars, apart from the first point.',
    ],
  },
  {
    title: 'Diary of a garden',
    sentences: [
      'Planted {number} tulips along the path, {colour} ones in front and {colour} ones behind.',
      'The {animal} was back and has dug under the fence beside the {fruit} bushes.',
      '{name} came by with seedlings from {place} and took two jars of jam home.',
      'After the {weather} days of {month} the grass is higher than the bench.',
    ],
  },
  {
    title: 'The {animal}',
    sentences: [
      'The {animal} lives in the woods around {place} and is seen mostly at dusk.',
      'It feeds on {fruit}, roots and whatever it finds on the ground in {month}.',
      'Young {animal}s follow their mother for {number} weeks and then look for a place of their own.',
      'In the fables of {place} the {animal} is clever and a little vain.',
      'Since {year} their number has grown again, to about {number} in the whole valley.',
    ],
  },
  {
    title: 'The concert in {place}',
    sentences: [
      'The choir sang in {place} on a {weather} night, with {name} at the organ.',
      'After the break came songs of {craft}, arranged for {number} voices by {name}.',
      'The slow movement was played too loudly, and the hall in {place} echoes.',
      '{name} played an encore that was longer than the programme had been.',
    ],
  },
  {
    title: 'How {craft} work',
    sentences: [
      'Among {craft} a day begins with sorting the tools and sweeping the floor.',
      'The guild of {place} has kept its {colour} flag since {year}.',
      '{name} learnt it from an uncle and teaches it to {number} apprentices now.',
      'Good material is bought in {month}, when the dealers come through {place}.',
      'The hardest part, says {name}, is to stop before it is perfect.',
    ],
  },
];

const words: Record<string, readonly string[]> = {
  group: [
    'choir board',
    'harbour committee',
    'parents of class four',
    'chess club',
    'parish council',
    'book circle',
  ],
  place: [
    'Almsby',
    'Korvik',
    'Tessenau',
    'Bramholt',
    'Lirano',
    'Ostwick',
    'Perrin',
    'Sandholm',
    'Vellmar',
    'Dunmore',
  ],
  thing: ['summer fair', 'new roof', 'calendar', 'anniversary book', 'playground', 'costumes', 'programme'],
  month: ['April', 'May', 'June', 'July', 'August', 'October'],
  name: [
    'Hanna',
    'Mr Okafor',
    'Lucia',
    'Pavel',
    'Mrs Lindqvist',
    'Tomas',
    'Ines',
    'Dr Bell',
    'Yusuf',
    'Greta',
  ],
  year: ['1782', '1809', '1834', '1851', '1877', '1893', '1906', '1921', '1948', '1963'],
  craft: ['weavers', 'coopers', 'basket makers', 'clockmakers', 'potters', 'bookbinders', 'boat builders'],
  number: ['three', 'seven', 'eleven', 'sixteen', 'forty', 'two hundred', 'ninety', 'twenty-eight'],
  weather: ['stormy', 'mild', 'foggy', 'dry', 'grey', 'sunny', 'chilly'],
  colour: ['pale', 'dark red', 'yellow', 'green', 'silver', 'violet', 'orange'],
  animal: ['badger', 'hedgehog', 'marten', 'heron', 'otter', 'squirrel', 'fox'],
  fruit: ['plums', 'pears', 'apples', 'cherries', 'quinces', 'apricots', 'currants'],
};

export function fill(template: string, dice: Dice): string {
  return template.replace(/\{(\w+)\}/g, (_, kind: string) => {
    const list = words[kind];
    if (!list) throw new Error(`The filler has no list of words named "${kind}"`);
    return dice.pick(list);
  });
}

/** A few sentences of one topic. */
export function fillerParagraph(sentences: readonly string[], dice: Dice): string {
  return dice
    .shuffled(sentences)
    .slice(0, 2 + dice.below(3))
    .map((sentence) => fill(sentence, dice))
    .join(' ');
}
