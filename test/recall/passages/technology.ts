import type { Passage } from '../passage.ts';

export const technologyPassages: readonly Passage[] = [
  {
    title: 'Snapshots',
    text: `Snapshots of all databases are taken every hour and [[kept for thirty-five days]]. After that they are
      deleted for good.`,
    question: 'For how long are database snapshots kept?',
    paraphrase: 'How far back in time can lost records be recovered?',
    near: `Snapshots are encrypted with a key that lies in another region, and only two people can reach it.`,
  },
  {
    title: 'Passwords',
    text: `A password needs [[at least fourteen characters]]. There are no rules about digits or signs, and it does not
      have to be changed every now and then.`,
    question: 'How long does a password have to be?',
    paraphrase: 'What is the minimum length of the secret that I log in with?',
    near: `After five wrong attempts an account is locked for a quarter of an hour. Administrators can open it
      earlier.`,
  },
  {
    title: 'Limits of the interface',
    text: `Each client may send [[six hundred requests a minute]]. Beyond that the server answers 429 and says when it
      may be tried again.`,
    question: 'How many requests per minute may a client send?',
    paraphrase: 'How many API calls can I make before I get throttled?',
    near: `Every request carries a token in its header. A token lasts an hour and is renewed at the refresh endpoint.`,
  },
  {
    title: 'Going live',
    text: `New versions go live [[on Tuesdays and Thursdays before noon]], first for one user in a hundred and an hour
      later for everybody. Nothing goes out on a Friday.`,
    question: 'On which weekdays do new versions go live?',
    paraphrase: 'On which days is software released to production?',
    near: `A version that misbehaves is taken back with the button of the build before it, which takes two minutes.`,
  },
  {
    title: 'Slow queries',
    text: `A query that reads a whole table is usually cured by [[an index on the columns of its filter]]. Compare the
      execution plans before and after.`,
    question: 'How do I make a query faster that reads the whole table?',
    paraphrase: 'My database lookup takes ages. How can I speed it up?',
    near: `The schema of the database is changed by numbered files, which nobody edits once they are merged.`,
  },
  {
    title: 'Batteries of phones',
    text: `The battery of a phone ages fastest when it is full and hot.
      [[Keep it between twenty and eighty per cent]] and it lives for years longer.`,
    question: 'How should I charge my phone so that the battery lasts for years?',
    paraphrase: 'What is the best way of charging my mobile so that it does not wear out?',
    near: `A phone that has fallen into water is switched off at once and left to dry for two days.`,
  },
  {
    title: 'Wireless at home',
    text: `Thick walls and ovens disturb the wireless signal. [[Put the router up high in the middle of the flat]], and
      not behind a television.`,
    question: 'Where should the router stand for a good wireless signal?',
    paraphrase: 'Why is my internet connection so weak in some rooms of the house?',
    near: `Name and password of the wireless network are printed on a sticker at the bottom of the router.`,
  },
  {
    title: 'Stuck paper',
    text: `If paper is stuck in the printer, switch it off, open the flap at its back and
      [[pull the sheet out slowly with both hands]] in the direction of its travel.`,
    question: 'How do I get stuck paper out of the printer?',
    paraphrase: 'A page got caught in the machine while I was making copies',
    near: `Cartridges are in the cabinet beside the printer. Empty ones are collected in the green box.`,
  },
  {
    title: 'Without the authenticator',
    text: `Whoever has lost the phone with the authenticator signs in with [[one of the ten recovery codes]] that were
      shown when it was set up.`,
    question: 'How do I sign in when I have lost the phone with my authenticator?',
    paraphrase: 'My mobile was stolen and I cannot get the second factor for my account',
    near: `From a device that we do not know, signing in asks for six digits of the authenticator.`,
  },
  {
    title: 'Erasing what we know',
    text: `When a customer asks for it, personal data is [[erased from all systems within thirty days]]. It is gone from
      the backups when these expire.`,
    question: "How long does it take to erase a customer's personal data?",
    paraphrase: 'How soon will you delete everything that you have stored about me?',
    near: `Customers can download a file with all their personal data from the page of their profile.`,
  },
  {
    title: 'Timestamps',
    text: `All timestamps are [[stored in UTC]]. They are turned into local time only where somebody looks at them, in
      the browser.`,
    question: 'Which time are timestamps stored in?',
    paraphrase: 'In which time zone are dates saved?',
    near: `The clocks of the servers follow three references. An alarm is raised when one of them is off by a second.`,
  },
  {
    title: 'Merging',
    text: `A change is merged when [[two colleagues have approved it]] and all tests are green. Nobody merges a change
      of their own without them.`,
    question: 'How many approvals does a change need before it can be merged?',
    paraphrase: 'How many people have to review my code before it is accepted?',
    near: `The message of a commit begins with a verb and says why. The number of the ticket stands in its last line.`,
  },
];
