import { readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Option } from 'commander'
import { z } from 'zod'
import type { Command } from '../../../cli/command.ts'
import { counted, printable, type Terminal } from '../../../cli/terminal.ts'
import { actionMessage } from '../../../contracts/facts/action-messages.ts'
import { type DsaStatement, MOST_IN_CALL } from '../../../contracts/facts/dsa-statement.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { RecordReader } from '../../../contracts/ports/record.ts'
import { recordReaderOf } from '../../../record/record-store.ts'
import { needsNone, statementOf, untilWithdrawn } from '../../../record/statement.ts'
import { actionOf, basisOf } from '../../../record/statement-basis.ts'
import { dsaForm, type StatementTexts } from '../../../record/statement-forms.ts'
import { puidOf, type StatementLanguage } from '../../../record/statement-words.ts'
import { statementTexts } from '../../composition/statement-texts.ts'
import { LANGUAGE_OPTION } from './reasons.ts'

interface Options {
  readonly url?: string
  readonly tokenFile?: string
  readonly sent: string
  readonly dryRun?: true
  readonly lang: StatementLanguage
  readonly tenant: string
}

interface SendReport {
  readonly sent: number
  readonly known: number
  readonly exempt: number
  readonly without: readonly { readonly action: string; readonly why: string }[]
}

/** How long the database may take for one call, in ms. */
const ANSWER_MS = 60_000

/** `gavel reasons send`: statements of all actions that have none yet, also of what was withdrawn since, to the EU's Transparency Database. */
export const command: Command<Options, SendReport> = {
  options: [
    new Option(
      '--sent <file>',
      'where it is noted what was sent: keep it, each statement goes once',
    ).makeOptionMandatory(),
    new Option('--url <url>', 'where the database takes several statements: …/api/v1/statements'),
    new Option('--token-file <file>', 'a file with your token for it'),
    new Option('--dry-run', 'print the statements, and send none'),
    LANGUAGE_OPTION,
    new Option('--tenant <name>', 'the tenant of the actions').default('default'),
  ],
  json: false,
  help: 'It can be begun again at any time: what was sent is not sent again. See docs/reasons.md.\n\nExample:\n  $ gavel reasons send --sent sent.txt --dry-run',
  async run({ options, settings: read, terminal, signal, misused }) {
    const { dryRun = false, url, tokenFile, sent: path, lang, tenant } = options
    if (!dryRun && (url === undefined || tokenFile === undefined))
      misused('--url and --token-file are needed, or --dry-run.')
    const settings = read()
    const texts = statementTexts(lang, settings.review.statements)
    const token = tokenFile === undefined ? '' : readFileSync(tokenFile, 'utf8').trim()
    const ledger = await sentLedger(path)
    const record = await recordReaderOf(settings)
    const without: { action: string; why: string }[] = []
    const counts = { sent: 0, known: 0, exempt: 0 }
    const actions = new Map<string, string>()
    const refuse = (puid: string, said: string) =>
      void without.push({ action: actions.get(puid) ?? puid, why: `the database refuses its statement: ${said}` })
    let waiting: DsaStatement[] = []
    async function flush(): Promise<void> {
      const some = waiting
      waiting = []
      if (some.length === 0) return
      if (dryRun) for (const one of some) terminal.out(JSON.stringify(one))
      counts.sent += dryRun ? some.length : await sendAll(some, { url: url ?? '', token, note: ledger.note, refuse })
    }
    try {
      for await (const one of unstated(record, { tenant, texts, isSent: ledger.has })) {
        if (signal.aborted) break
        if ('known' in one) counts.known++
        else if ('exempt' in one) counts.exempt++
        else if ('why' in one) without.push(one)
        else {
          actions.set(one.form.puid, one.action)
          waiting.push(one.form)
        }
        if (waiting.length === MOST_IN_CALL) await flush()
      }
      await flush()
      return { ...counts, without }
    } catch (error) {
      // What is known of the others is no less true.
      name(without, terminal)
      throw error
    } finally {
      await record.close()
      await ledger.close()
    }
  },
  print({ sent, known, exempt, without }, { terminal, options: { dryRun } }) {
    name(without, terminal)
    const did = dryRun === true ? 'would be sent (none breaks a rule of the database that is restated here)' : 'sent'
    const none = exempt === 0 ? '' : ` ${counted(exempt, 'action')} without need of one.`
    terminal.say(
      `${counted(sent, 'statement')} ${did}, ${known} sent before, ${without.length} without a statement.${none}`,
    )
    if (without.length > 0) throw new OperatorError('Some actions have no statement.')
  },
}

function name(without: SendReport['without'], terminal: Pick<Terminal, 'say'>): void {
  for (const { action, why } of without) terminal.say(`${printable(action, 200)}: ${printable(why, 600)}`)
}

type Unstated =
  | { readonly known: true }
  | { readonly action: string; readonly why: string }
  | { readonly exempt: true }
  | { readonly action: string; readonly form: DsaStatement }

/** Actions of a tenant by which something was done, also those that were withdrawn since, each with its statement or why it has none. */
async function* unstated(
  record: RecordReader,
  { tenant, texts, isSent }: { tenant: string; texts: StatementTexts; isSent: (puid: string) => boolean },
): AsyncGenerator<Unstated> {
  for await (const { message } of record.actions()) {
    const read = actionMessage.safeParse(message)
    if (!read.success || read.data.withdraw === true || read.data.tenant !== tenant || read.data.what === 'none')
      continue
    const { id } = read.data
    if (isSent(puidOf(tenant, id))) {
      yield { known: true }
      continue
    }
    const now = await actionOf(record, tenant, id)
    if (now === null) continue
    if (needsNone(now.action, texts.map)) {
      yield { exempt: true }
      continue
    }
    const statement = statementOf(await basisOf(record, now.action), texts.map)
    const form = 'puid' in statement ? dsaForm(untilWithdrawn(statement, now.withdrawnAt), texts) : statement
    yield 'puid' in form ? { action: id, form } : { action: id, why: form.join('; ') }
  }
}

/** Answers that are about what a call holds, and not about the call: the next one may be taken. */
const OF_STATEMENTS = [400, 413, 422]

/** What the database answers of a call that it does not take: which it has already, and which break a rule, by their place. */
const faults = z.object({ errors: z.looseObject({ existing_puids: z.array(z.string()).default([]) }) })

/**
 * Sends them in one call, and returns how many of them it has then. The database takes a call whole or not at all: what it has already
 * is noted, as of a call whose answer was lost, what it refuses is named, and the others are sent again.
 */
async function sendAll(
  statements: readonly DsaStatement[],
  to: {
    readonly url: string
    readonly token: string
    readonly note: (puids: readonly string[]) => Promise<void>
    readonly refuse: (puid: string, said: string) => void
  },
): Promise<number> {
  if (statements.length === 0) return 0
  const response = await fetch(to.url, {
    method: 'POST',
    headers: { authorization: `Bearer ${to.token}`, 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ statements }),
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_MS),
  })
  const puids = statements.map(({ puid }) => puid)
  if (response.status === 201) {
    await to.note(puids)
    return puids.length
  }
  const said = await response.text()
  const errors: Readonly<Record<string, unknown>> = response.status === 422 ? errorsIn(said) : {}
  const known = puids.filter((puid) => (errors.existing_puids as readonly string[] | undefined)?.includes(puid)) // By its schema.
  const refused = puids.filter((puid, at) => errors[`statement_${at}`] !== undefined && !known.includes(puid))
  if (known.length + refused.length === 0) {
    if (!OF_STATEMENTS.includes(response.status))
      throw new OperatorError(
        `The database answered ${response.status}: ${printable(said, 500)}. Nothing of this call was sent. After 429 or 5xx run it again.`,
      )
    if (puids.length === 1) {
      to.refuse(puids[0] ?? '', said)
      return 0
    }
    // It does not say which: they are found by halves, and hold up no others.
    const half = Math.ceil(statements.length / 2)
    return (await sendAll(statements.slice(0, half), to)) + (await sendAll(statements.slice(half), to))
  }
  for (const puid of refused) to.refuse(puid, JSON.stringify(errors[`statement_${puids.indexOf(puid)}`]))
  if (known.length > 0) await to.note(known)
  const others = statements.filter(({ puid }) => !known.includes(puid) && !refused.includes(puid))
  return known.length + (await sendAll(others, to))
}

function errorsIn(said: string): z.infer<typeof faults>['errors'] | Record<string, never> {
  try {
    return faults.parse(JSON.parse(said)).errors
  } catch {
    return {}
  }
}

/** The puids in a file, one a line; what is noted is on the disk. */
async function sentLedger(path: string) {
  const file = await open(path, 'a+', 0o600)
  const text = await file.readFile('utf8')
  // A process that was killed may have left half a line.
  if (text !== '' && !text.endsWith('\n')) await file.write('\n')
  const known = new Set(text.split('\n').filter((line) => line !== ''))
  return {
    has: (puid: string) => known.has(puid),
    async note(puids: readonly string[]) {
      for (const puid of puids) known.add(puid)
      await file.write(`${puids.join('\n')}\n`)
      await file.sync()
    },
    close: () => file.close(),
  }
}
