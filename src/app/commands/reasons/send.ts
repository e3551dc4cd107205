import { readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Option } from 'commander'
import { z } from 'zod'
import type { Command } from '../../../cli/command.ts'
import { counted, printable } from '../../../cli/terminal.ts'
import { actionMessage } from '../../../contracts/facts/action-messages.ts'
import { type DsaStatement, MOST_IN_CALL } from '../../../contracts/facts/dsa-statement.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { RecordReader } from '../../../contracts/ports/record.ts'
import { recordReaderOf } from '../../../record/record-store.ts'
import { statementOf } from '../../../record/statement.ts'
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
  readonly without: readonly { readonly action: string; readonly why: string }[]
}

/** How long the database may take for one call, in ms. */
const ANSWER_MS = 60_000

/** `gavel reasons send`: statements of all actions that were not withdrawn and have none yet, to the EU's Transparency Database. */
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
    const counts = { sent: 0, known: 0 }
    let waiting: DsaStatement[] = []
    async function flush(): Promise<void> {
      const some = waiting
      waiting = []
      if (some.length === 0) return
      if (dryRun) for (const one of some) terminal.out(JSON.stringify(one))
      else await sendAll(some, { url: url ?? '', token, note: ledger.note })
      counts.sent += some.length
    }
    try {
      for await (const one of unstated(record, { tenant, texts, isSent: ledger.has })) {
        if (signal.aborted) break
        if ('known' in one) counts.known++
        else if ('why' in one) without.push(one)
        else waiting.push(one.form)
        if (waiting.length === MOST_IN_CALL) await flush()
      }
      await flush()
      return { ...counts, without }
    } finally {
      await record.close()
      await ledger.close()
    }
  },
  print({ sent, known, without }, { terminal, options: { dryRun } }) {
    for (const { action, why } of without) terminal.say(`${printable(action, 200)}: ${printable(why, 600)}`)
    const did = dryRun === true ? 'would be sent' : 'sent'
    terminal.say(`${counted(sent, 'statement')} ${did}, ${known} sent before, ${without.length} without a statement.`)
    if (without.length > 0) throw new OperatorError('Some actions have no statement.')
  },
}

type Unstated =
  | { readonly known: true }
  | { readonly action: string; readonly why: string }
  | { readonly form: DsaStatement }

/** Actions of a tenant that were not withdrawn and by which something was done, each with its statement or why it has none. */
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
    if (now === null || now.isWithdrawn) continue
    const statement = statementOf(await basisOf(record, now.action), texts.map)
    const form = 'puid' in statement ? dsaForm(statement, texts) : statement
    yield 'puid' in form ? { form } : { action: id, why: form.join('; ') }
  }
}

/** What the database answers where it has some already. */
const duplicates = z.object({ errors: z.object({ existing_puids: z.array(z.string()) }) })

/**
 * Sends them in one call. The database refuses a call of which it has one already: that one is noted, as a call whose answer was lost,
 * and the others are sent again.
 */
async function sendAll(
  statements: readonly DsaStatement[],
  to: { url: string; token: string; note: (puids: readonly string[]) => Promise<void> },
): Promise<void> {
  if (statements.length === 0) return
  const response = await fetch(to.url, {
    method: 'POST',
    headers: { authorization: `Bearer ${to.token}`, 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ statements }),
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_MS),
  })
  if (response.status === 201) return to.note(statements.map(({ puid }) => puid))
  const said = await response.text()
  const known = new Set(
    statements.map(({ puid }) => puid).filter((puid) => response.status === 422 && existing(said).has(puid)),
  )
  if (known.size === 0)
    throw new OperatorError(
      `The database answered ${response.status}: ${printable(said, 500)}. Nothing of this call was sent.`,
    )
  await to.note([...known])
  await sendAll(
    statements.filter(({ puid }) => !known.has(puid)),
    to,
  )
}

function existing(said: string): ReadonlySet<string> {
  try {
    return new Set(duplicates.parse(JSON.parse(said)).errors.existing_puids)
  } catch {
    return new Set()
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
