/** The words of the page of people's decisions. */
export const DECISIONS_TEXTS = {
  title: 'Decisions',
  says: 'What people decided, the newest first: withdrawals and opinions too. Why stands on the verdict’s page.',
  person: 'Person',
  protocol: 'Protocol',
  subject: 'Post',
  kind: 'What came of it',
  kinds: {
    stands: 'in force',
    replaced: 'replaced since',
    withdrawal: 'withdrew a verdict',
    opinion: 'opinion',
  },
  any: 'any',
  days: 'Days',
  degraded: 'on verdicts that lacked something',
  find: 'Show',
  heads: ['When', 'Person', 'Decided', 'Post', 'Protocol', 'Before', 'What came of it'],
  withdrew: 'withdrew',
  lacked: 'lacked something',
  none: 'No decision fits.',
  older: 'Older',
} as const
