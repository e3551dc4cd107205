/** The words of the page of the audit. */
export const AUDIT_TEXTS = {
  title: 'Audit',
  says: 'Who looked at what, and what they did. Reading takes some seconds. Whoever reads it is noted as well.',
  person: 'Person',
  subject: 'Post or verdict',
  days: 'Days',
  kind: 'What',
  any: 'any',
  kinds: {
    uncovered: 'uncovered',
    did: 'sent a form',
    saved: 'saved a file',
    refused: 'was refused',
    signed: 'signed in or out',
  },
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
  /** Of a field in which somebody wrote something. */
  written: (name: string) => `${name} (some words)`,
  file: 'SHA-256',
  more: (count: number) => `and ${count} more`,
  none: 'No entry fits. Choose more days, or leave a field empty: a person is found by their whole name, a post by its id.',
  older: 'Older',
  away: 'The audit cannot be read now: Kafka does not answer, or this console may not read the topic.',
} as const
