import type { AuditEntry } from '../contracts/facts/audit.ts'
import type { PageCall } from './page.ts'

/** Fields whose values are of a closed list, or name a tenant, a language or a person: none is a word of a post, of a reason or of a search. */
const CLOSED: ReadonlySet<string> = new Set([
  ...[
    'protocol',
    'kind',
    'purpose',
    'reason',
    'show',
    'order',
    'days',
    'age',
    'reach',
    'contested',
    'opposed',
    'degraded',
    'overrules',
    'part',
  ],
  ...[
    'code',
    'opinion',
    'withdraw',
    'covered',
    'cover',
    'hover',
    'me',
    'tenant',
    'lang',
    'by',
    'person',
    'assignee',
    'to',
  ],
  ...['decider'],
])
/** What people write: that they did is noted, and no word of it. */
const OPEN: ReadonlySet<string> = new Set([
  'q',
  'why',
  'text',
  'label',
  'clause',
  'author',
  'subject',
  'model',
  'prompts',
  'fault',
])
/** A value as one word; whatever else stands in an address is something that somebody wrote. */
const ONE_WORD = /^[\w.@+-]{1,100}$/

/** What a form or an address asked for, as the audit has it: of what may hold words the name alone. */
export function askedFields({ query, form }: Pick<PageCall, 'query' | 'form'>): Pick<AuditEntry, 'asked'> {
  const given = [...query, ...form].filter(([, value]) => value !== '')
  const asked = given.flatMap(([name, value]) => {
    if (CLOSED.has(name)) return [[name, ONE_WORD.test(value) ? value : ''] as const]
    return OPEN.has(name) ? [[name, ''] as const] : []
  })
  return asked.length === 0 ? {} : { asked: Object.fromEntries(asked) }
}
