/** The words of the page of quality. */
export const QUALITY_TEXTS = {
  title: 'Quality',
  rates: 'How often verdicts are wrong',
  ratesSay:
    'Told from what was drawn at random, in the order in which it was drawn. What is drawn and not yet looked at stands beside each share; the link leads to the first, which holds up the rest.',
  noRates: 'Nothing is drawn yet. Set review.auditShare to the share of verdicts that people should audit.',
  rateHeads: ['Protocol', 'Drawn to see', 'Of', 'Share, with its 95 % interval', 'Counted', 'Waits'],
  purposes: {
    audit: 'machine wrong',
    control: 'debate changed it',
    'second-opinion': 'people disagree',
  },
  parts: { label: 'label', language: 'language' },
  all: 'all',
  byPart: 'By label and language',
  nothingCounts: 'Nothing counts yet',
  noneWaits: 'nothing',
  draws: 'What was drawn, one by one',
  drawsSay: (audit: string, blind: string) =>
    `Of each protocol’s subjects ${audit} are drawn now to see how often machines are wrong, and of people’s verdicts ${blind} for a second opinion. Each has the chance with which it was drawn, and counts for one divided by that.`,
  drawHeads: ['Drawn', 'To see', 'Protocol', 'Verdict', 'Chance', 'Found'],
  found: { waits: 'waits', same: 'the same', differs: 'differs', left: 'in no share' },
  show: 'Show',
  older: 'Older',
  ahead: (count: number) => `(${count} looked at before their turn)`,
  times: (times: number, of: number) => `${times} of ${of}`,
  people: (days: number) => `People, ${days} days`,
  peopleSay:
    'Decisions that took effect, and second opinions. Two people who disagree may both be careful: blind agreement counts for both. Golden items are what leads made to check people: how often they had the key’s label. Seconds are the median from when an item was shown; uncovered is how often they uncovered what may harm. A share of fewer than 10 is not shown.',
  peopleHeads: [
    'Person',
    'Decisions',
    'Second opinions',
    'Blind agreement',
    'Golden items',
    'Overturned by others',
    'Seconds an item',
    'Uncovered',
  ],
  days: (days: number) => `${days} days`,
  tooFew: 'too few to tell',
  noPeople: 'Nobody has decided anything in this time. Choose a longer one, or begin in Review.',
} as const
