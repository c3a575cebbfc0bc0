import type { Passage } from '../passage.ts';

export const workPassages: readonly Passage[] = [
  {
    title: 'Unused leave',
    text: `Days of annual leave that were not taken by the end of December [[may be taken until the end of March]].
      After that they lapse, unless a long illness made it impossible to use them.`,
    question: 'Until when can I take leave that is left over from last year?',
    paraphrase: 'What happens to vacation that I did not use up last year?',
    near: `Annual leave is requested in the portal at least two weeks ahead. The team lead approves it and looks at how
      many colleagues are away at the same time.`,
  },
  {
    title: 'Hotels',
    text: `Receipts of business trips are handed in within thirty days. Hotels are reimbursed up to
      [[one hundred and forty euros a night]]; anything above has to be agreed upon beforehand.`,
    question: 'How much may a hotel cost per night on a business trip?',
    paraphrase: 'How expensive may my accommodation be when I travel for the company?',
    near: `For a private car thirty cents per kilometre are paid. The log has to name where the journey began, where it
      ended and what it was for.`,
  },
  {
    title: 'Newcomers',
    text: `Every newcomer is given [[an experienced colleague as a mentor]], who shows them around, answers questions
      and has lunch with them during the first weeks.`,
    question: 'Which colleague looks after a newcomer during the first weeks?',
    paraphrase: 'Who helps me to find my way when I start a new job there?',
    near: `On their first day new people collect a badge and a laptop at the front desk and sign the annex about
      confidentiality.`,
  },
  {
    title: 'Working from home',
    text: `Working from home is possible on [[up to three days a week]], as long as the team can reach you between ten
      and three o'clock and nobody has to stand in for you.`,
    question: 'How many days per week may I work from home?',
    paraphrase: 'How often can I do my job remotely instead of coming to the office?',
    near: `For a desk at home the firm lends a monitor and a chair. Both are brought back when the contract ends.`,
  },
  {
    title: 'When the siren sounds',
    text: `When the siren sounds, leave by the nearest stairs and [[gather at the car park behind the canteen]]. Do not
      use the lifts, and do not go back for your belongings.`,
    question: 'Where do we meet outside when the alarm siren goes off?',
    paraphrase: 'Where should everybody meet if there is a fire?',
    near: `Fire extinguishers are inspected every two years. The date of the last inspection is written on the label
      beside the handle.`,
  },
  {
    title: 'Booked rooms',
    text: `A meeting room that was booked and is [[still empty after fifteen minutes is released]]. Whoever comes first
      may take it then, for as long as the booking would have lasted.`,
    question: 'What happens to a booked meeting room when nobody turns up?',
    paraphrase: 'Somebody reserved the conference room and did not show up. Can we have it?',
    near: `The large meeting room seats twenty people. It has a projector, two whiteboards and a camera for calls with
      other sites.`,
  },
  {
    title: 'Wages',
    text: `Wages are transferred [[on the twenty-fifth of each month]], or on the last working day before it when that
      day falls on a weekend.`,
    question: 'On which day of the month are wages paid?',
    paraphrase: 'When will my salary arrive in my bank account?',
    near: `Pay slips stay in the portal for ten years. Copies on paper are sent only to those who ask for them.`,
  },
  {
    title: 'Illness',
    text: `If you are ill, tell your supervisor before nine in the morning. A certificate of a doctor is needed
      [[from the fourth day of absence]].`,
    question: "When do I need a doctor's certificate if I am ill?",
    paraphrase: 'How long may I be off sick before I have to bring a medical note?',
    near: `The company's physician gives flu shots every autumn and tests the eyes of people who work at a screen.`,
  },
  {
    title: 'Recommending friends',
    text: `Whoever recommends a friend who is then hired receives [[a bonus of one thousand euros]] as soon as the
      friend's trial period is over.`,
    question: 'What do I get for recommending a friend who is hired?',
    paraphrase: 'Do I get a reward for bringing in a new colleague?',
    near: `Open positions are announced on the notice board a week before they appear on the job sites.`,
  },
  {
    title: 'Learning',
    text: `Each of us may spend [[two thousand euros a year on courses]], books and conferences. What is left over in
      December is not carried into the next year.`,
    question: 'What is the yearly budget for courses and conferences?',
    paraphrase: 'How much money does my employer pay for my further education?',
    near: `First aid is taught twice a year in the canteen. On each floor at least one person should hold the
      certificate.`,
  },
  {
    title: 'What to wear',
    text: `Nobody minds what you wear in the office. At visits to customers we [[put on a jacket and closed shoes]],
      and leave the trainers at home.`,
    question: 'What should I wear when I visit a customer?',
    paraphrase: 'How should I dress for an appointment with a client?',
    near: `In the workshop safety boots and goggles are compulsory. Visitors get both at the entrance.`,
  },
  {
    title: 'Invoices of suppliers',
    text: `Invoices are paid [[fourteen days after they have arrived]], provided that they name the number of the
      order. Those that do not go back to the supplier.`,
    question: "How many days does it take until a supplier's invoice is paid?",
    paraphrase: 'As a vendor, how soon can I expect payment of my bill?',
    near: `Orders above five thousand euros need three offers and the signatures of two managers.`,
  },
  {
    title: 'Access cards',
    text: `A lost access card must be reported at once, so that it can be blocked. The first replacement is free,
      [[every further card costs fifteen euros]].`,
    question: 'What does it cost to replace an access card that was lost?',
    paraphrase: 'I cannot find my entry pass any more. What do I pay for a new one?',
    near: `Doors open with the access card from six in the morning until ten at night. At other hours a code has to be
      typed in as well.`,
  },
];
