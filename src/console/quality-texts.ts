/** The words of the page of quality. */
export const QUALITY_TEXTS = {
  title: 'Quality',
  rates: 'How often verdicts are wrong',
  ratesSay:
    'Told from what was drawn at random, in the order in which it was drawn, up to the first that nobody has looked at: so nobody can choose what counts. What was looked at in all stands behind that, and what waits beside it; the link leads to the first, which holds up the rest. A label or a language has an order of its own, and may be further than the whole. Intervals are exact (Clopper and Pearson), by the effective number of draws (Korn and Graubard) where these weigh differently.',
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
  drawsSay: (audit: string, lane: string, blind: string) =>
    `Of each protocol’s subjects ${audit} are drawn now, of those that a first lane settled ${lane}, to see how often machines are wrong, and of people’s verdicts ${blind} for a second opinion. Each has the chance with which it was drawn, and counts for one divided by that.`,
  sumHeads: ['Protocol', 'To see', 'Since', 'Could be drawn', 'Drawn', 'Chance', 'Reviewed', 'Wait', 'In no share'],
  sumsSay:
    'Could be drawn: subjects with a current verdict since the first draw, and for second opinions people’s verdicts. Controls are drawn among debates that would not have been held, which are not counted here. In no share: the machines gave no label, so that there was nothing to be wrong, or what was drawn was replaced or withdrawn before anybody looked. Counted once a minute.',
  notKnown: 'not counted',
  between: (low: string, high: string) => `${low} to ${high}`,
  noDrawFits: 'No draw fits. Choose another protocol or purpose.',
  drawHeads: ['Drawn', 'To see', 'Protocol', 'Verdict', 'Chance', 'Found'],
  found: { waits: 'waits', same: 'the same', differs: 'differs', left: 'in no share' },
  show: 'Show',
  lookedAt: (differing: number, reviewed: number) => `(${differing} of ${reviewed} looked at)`,
  ahead: (count: number) => `(${count} looked at before their turn)`,
  lanes: 'First lanes',
  /** So many audited verdicts it takes, in 19 of 20 cases, after a thousand at 2 %. */
  lanesNotice: 1_050,
  lanesSay: (share: string, settled: number | null) =>
    `Of what a first lane settles ${share} is drawn at random and goes to people. The evidence against its promise grows with each error; where it reaches the second number, the lane closes itself, and only a new file opens one. Where 5 % was promised, that 2 % have become 10 % is noticed after about 530 audited verdicts, and after 1,050 in 19 of 20 cases${settled === null ? '' : `: at this share ${settled.toLocaleString('en')} that it settles`}. Where 2 % was promised, after 130 and 260.`,
  laneHeads: ['Lane', 'Promised at most', 'Found wrong', 'Share, with its 95 % interval', 'Evidence', 'It', 'Waits'],
  laneClosed: 'closed itself',
  laneClosedFor: (tenants: readonly string[]) => `closed itself for ${tenants.join(', ')}`,
  laneHolds: 'holds',
  times: (times: number, of: number) => `${times} of ${of}`,
  people: (days: number) => `People, ${days} days`,
  peopleSay:
    'Decisions that took effect, and second opinions of who had not seen the label. Two people who disagree may both be careful: blind agreement counts for both. Golden items are what leads made to check people: how often they had the key’s label. Seconds are the median from when an item was shown (one or two are less than reading takes); uncovered is how often they uncovered what may harm. A share of fewer than 10 is not shown.',
  peopleHeads: [
    'Person',
    'Decisions',
    'Blind second opinions',
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
