/** The words of the page of the audit. */
export const AUDIT_TEXTS = {
  title: 'Audit',
  says: 'Who looked at what, and what they did. Reading takes some seconds. Whoever reads it is noted as well.',
  person: 'Person',
  subject: 'Post or verdict',
  days: 'Days',
  find: 'Look',
  heads: ['When', 'Person', 'What', 'Page', 'Verdicts', 'From'],
  what: {
    saw: 'saw',
    did: 'sent a form',
    streamed: 'was told',
    'signed-in': 'signed in',
    'signed-out': 'signed out',
    refused: 'was refused',
  },
  more: (count: number) => `and ${count} more`,
  none: 'No entry fits.',
  older: 'Older',
  away: 'The audit cannot be read now: Kafka does not answer, or this console may not read the topic.',
} as const
