import type { Passage } from '../passage.ts';

export const homePassages: readonly Passage[] = [
  {
    title: 'Crust in the kettle',
    text: `The white crust at the bottom of a kettle disappears if you [[boil water with a little vinegar]] in it, wait
      for half an hour and rinse it twice.`,
    question: 'How do I clean a kettle with a white crust inside?',
    paraphrase: 'How can I get rid of limescale in my water boiler?',
    near: `A kettle uses less power than a pan on the stove, because nearly all of its heat goes straight into the
      water.`,
  },
  {
    title: 'Sourdough',
    text: `The starter of a sourdough is fed [[once a day with equal parts of flour and water]]. In the fridge, where
      it grows slowly, once a week is enough.`,
    question: 'How often must a sourdough starter be fed?',
    paraphrase: 'How often does the yeast culture for my bread need new food?',
    near: `Loaves of sourdough are baked in a hot iron pot. The steam under its lid keeps the crust soft until the
      dough has risen.`,
  },
  {
    title: 'Wine on the tablecloth',
    text: `A fresh spot of red wine on a tablecloth comes out if you [[cover it with salt at once]] and wash it with
      cold water an hour later.`,
    question: 'How do I get a red wine spot out of a tablecloth?',
    paraphrase: 'I spilled my drink on the table linen. How can I remove the stain?',
    near: `A tablecloth is ironed while it is still damp, from the wrong side and with a lot of steam.`,
  },
  {
    title: 'Cacti in winter',
    text: `Cacti want to be dry and cool while they rest: [[water them only once a month]] from November until
      February.`,
    question: 'How often do cacti need water in winter?',
    paraphrase: 'How much should I pour on my desert plants during the cold season?',
    near: `Cacti are repotted in spring, into soil that is mixed with coarse sand, and with thick gloves.`,
  },
  {
    title: 'A radiator that gurgles',
    text: `If a radiator gurgles and stays cold at its top, air is trapped inside.
      [[Open the small valve with a square key]] until water comes out, and close it again.`,
    question: 'What can I do about a radiator that gurgles and stays cold?',
    paraphrase: 'The heating makes strange noises and is only half warm. What can I do?',
    near: `A thermostat at three keeps a room at about twenty degrees. Each further mark adds about four.`,
  },
  {
    title: 'Chocolate and dogs',
    text: `Chocolate is poisonous for dogs: a substance in it [[makes the heart race and can kill]]. If yours has eaten
      some, call the vet at once.`,
    question: 'Is chocolate dangerous for dogs?',
    paraphrase: 'Why must I not give sweets to my puppy?',
    near: `Dogs learn a command best in short exercises before a meal, with a small treat for everything done right.`,
  },
  {
    title: 'Fever of infants',
    text: `With infants of less than three months [[a temperature above thirty-eight degrees is an emergency]]. Drive to
      a children's hospital without delay.`,
    question: 'Which temperature is too high for an infant?',
    paraphrase: 'My newborn baby feels very hot. When do I have to see a doctor?',
    near: `Infants sleep best on their back, without a pillow and in a room that is rather cool.`,
  },
  {
    title: 'A smoke alarm that chirps',
    text: `When a smoke alarm chirps once a minute, [[its battery is nearly empty]]. Turn it out of its holder, put in a
      new one and press the button to test it.`,
    question: 'Why does the smoke alarm chirp every minute?',
    paraphrase: 'A detector on the ceiling keeps beeping although nothing is burning',
    near: `Smoke alarms belong into every bedroom and every hallway, in the middle of the ceiling and half a metre away
      from the walls.`,
  },
  {
    title: 'Sweaters of wool',
    text: `Sweaters of wool are washed by hand in lukewarm water and [[dried lying flat on a towel]]. On a line they
      lose their shape.`,
    question: 'How should a wool sweater be dried?',
    paraphrase: 'How do I keep my pullover from getting stretched after washing it?',
    near: `Moths do not like the scent of cedar. Some pieces of it in the wardrobe protect everything that is knitted.`,
  },
  {
    title: 'Ice in the freezer',
    text: `[[A layer of ice as thick as a finger]] makes a freezer use half as much electricity again. Defrost it twice
      a year, best on a frosty day.`,
    question: 'Does ice in the freezer cost more electricity?',
    paraphrase: 'Why does my fridge consume so much energy?',
    near: `Bread, berries and soup keep for half a year in the freezer. Write the date on each box.`,
  },
  {
    title: 'A slow sink',
    text: `A sink that drains slowly is often cured by [[a plunger and hot water]]. Close the overflow with a wet cloth
      first, and leave chemicals alone.`,
    question: 'What helps when the sink drains slowly?',
    paraphrase: 'The water in my bathroom basin does not run off any more',
    near: `A tap that drips needs a new washer. Shut the main valve before you unscrew the handle.`,
  },
  {
    title: 'Slugs',
    text: `Slugs do not like to creep over metal: [[a strip of copper around the bed]] keeps them away from young
      plants without any poison.`,
    question: 'How can I protect young plants from slugs without poison?',
    paraphrase: 'How can I stop snails from eating my vegetables?',
    near: `Lettuce is sown every other week from March on, so that there is always some that can be cut.`,
  },
  {
    title: 'An empty car battery',
    text: `Connect the red cable with the plus poles of both batteries, then
      [[the black one with bare metal of the engine]]. Start the helping car first and wait for a minute.`,
    question: 'In which order do I connect the cables to start a car with an empty battery?',
    paraphrase: 'How do I jump-start a vehicle with the help of another one?',
    near: `Tyres for the winter should have four millimetres of tread and be no older than six years.`,
  },
];
