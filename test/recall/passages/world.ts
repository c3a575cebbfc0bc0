import type { Passage } from '../passage.ts';

export const worldPassages: readonly Passage[] = [
  {
    title: 'Tides',
    text: `Twice a day the water rises and falls, because [[the gravity of the moon pulls at the oceans]]. When the moon
      is full or new, the sun adds its share.`,
    question: 'Why does the water rise and fall twice a day?',
    paraphrase: 'What causes the changing sea level at the coast?',
    near: `When the water is low one can walk over the sea floor to the island. Guides lead groups in summer.`,
  },
  {
    title: 'Swallows',
    text: `Swallows leave us in September, when [[flying insects become scarce]], and spend the winter far to the south
      of the Sahara.`,
    question: 'Why do swallows fly south in September?',
    paraphrase: 'Why do some birds migrate to Africa in autumn?',
    near: `Swallows build nests of mud under the eaves of barns, and come back to the same nest every year.`,
  },
  {
    title: 'Ash',
    text: `Ash of volcanoes is [[rich in minerals that plants need]]. That is why farmers go back to the slopes soon
      after an eruption.`,
    question: 'Why do farmers like the ash of volcanoes?',
    paraphrase: 'Why do people grow crops on such dangerous mountains?',
    near: `Before it erupts, a volcano trembles in many small earthquakes and its flanks begin to swell.`,
  },
  {
    title: 'Bags on flights',
    text: `In economy class [[one bag of up to twenty-three kilograms]] is included. Each further bag costs seventy
      euros for every flight.`,
    question: 'How many kilograms may a bag have in economy class?',
    paraphrase: 'How heavy may my suitcase be on the plane?',
    near: `Liquids in the cabin must be in bottles of a hundred millilitres at most, all in one clear pouch.`,
  },
  {
    title: 'Late trains',
    text: `Passengers of a train that arrives more than an hour late get [[a quarter of the fare back]], and half of it
      from two hours on.`,
    question: 'How much of the fare do I get back when the train is late?',
    paraphrase: 'Is there a refund when my railway journey is delayed?',
    near: `Seats in the fast trains can be reserved from six months before departure until the last minute.`,
  },
  {
    title: 'Entering the country',
    text: `Citizens of neighbouring countries may [[stay for ninety days without a visa]]. Their passport has to be
      valid for another six months.`,
    question: 'How many days may I stay in the country without a visa?',
    paraphrase: 'How long can a tourist remain there with no special permit?',
    near: `The embassy takes applications on weekday mornings. Appointments are made online.`,
  },
  {
    title: 'Borrowing',
    text: `Books may be borrowed for four weeks. For each day beyond that [[the library charges twenty cents]] per
      volume.`,
    question: 'What does the library charge for a book that is overdue?',
    paraphrase: 'What is the fine if I return a novel too late?',
    near: `The reading room of the library is open until midnight in the weeks of the examinations.`,
  },
  {
    title: 'Admission',
    text: `Admission to the museum is [[free on the first Sunday of the month]]. On other days adults pay nine euros,
      and schoolchildren three.`,
    question: 'When is the museum free?',
    paraphrase: 'When can I see the exhibition without paying?',
    near: `The clocks of the museum were a gift of a watchmaker's widow and fill two of its rooms.`,
  },
  {
    title: 'Away on election day',
    text: `Voters who are away on the day of the election can [[ask for ballot papers by post]] until the Friday before
      it.`,
    question: 'How can I vote when I am away on election day?',
    paraphrase: 'How can I take part in the vote if I am travelling abroad?',
    near: `Polling stations close at six in the evening, and everybody may watch the counting that follows.`,
  },
  {
    title: 'Glass',
    text: `Bottles and jars go into the containers at the market, sorted by colour.
      [[Their lids belong into the yellow bag]], because they are made of metal.`,
    question: 'Where do the lids of jars go?',
    paraphrase: 'Where do I throw away the caps of empty glass containers?',
    near: `Old furniture is collected in spring and in autumn, after a call at the town hall.`,
  },
  {
    title: 'The first marathon',
    text: `Beginners train for a marathon for at least half a year, and
      [[run no more than a tenth further each week]]. Knees and tendons need longer than lungs.`,
    question: 'How much further may a beginner run each week before a marathon?',
    paraphrase: 'How quickly may I increase my jogging distance without getting injured?',
    near: `The marathon of the city starts at nine in front of the opera. The roads along the river are closed.`,
  },
  {
    title: 'Stings',
    text: `The sting of a bee is removed by [[scraping it off with a fingernail]], never by squeezing. Then cool the
      spot with ice.`,
    question: 'How do I remove the sting of a bee?',
    paraphrase: 'I was stung by an insect. What should I do first?',
    near: `Beekeepers calm the bees with some smoke before they lift the frames out of a hive.`,
  },
];
