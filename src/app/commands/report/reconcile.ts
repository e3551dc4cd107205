import { readFileSync } from 'node:fs'
import { Option } from 'commander'
import { topicsOf } from '../../../../config/topics.ts'
import type { Command } from '../../../cli/command.ts'
import { printable } from '../../../cli/terminal.ts'
import { type ActionTaken, actionMessage } from '../../../contracts/facts/action-messages.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { parseMessage } from '../../../contracts/facts/message-json.ts'
import { subjectKeyOf } from '../../../contracts/facts/messages.ts'
import { recordReaderOf } from '../../../record/record-store.ts'
import { puidOf } from '../../../record/statement-words.ts'
import { topicHistory } from '../../../stream/bounded-reader.ts'
import { statementTexts } from '../../composition/statement-texts.ts'
import { readingClient } from '../reading-client.ts'
import { PERIOD_OPTIONS } from './report.ts'
import { keptSince, reportedActions, warnOfExpired } from './reported.ts'

interface Options {
  readonly since: number
  readonly until: number
  readonly tenant: string
  readonly sent: string
}

/** What differs: of which action, or which statement, and how. */
interface Difference {
  readonly of: string
  readonly differs: string
}

/** `gavel report reconcile`: holds the report, the statements that were sent, the record's actions and the topic against each other. */
export const command: Command<Options, readonly Difference[]> = {
  options: [...PERIOD_OPTIONS, new Option('--sent <file>', 'the file of "gavel reasons send"').makeOptionMandatory()],
  json: true,
  help: 'It names each action that is not in all of them, and exits with 1 if there is one. See docs/reasons.md.\n\nExample:\n  $ gavel report reconcile --since 2026-01-01T00:00:00Z --until 2027-01-01T00:00:00Z --sent sent.txt',
  async run({ options: { since, until, tenant, sent }, settings: read, terminal, signal }) {
    const settings = read()
    warnOfExpired({ since, keep: settings.record.keep }, terminal)
    const { map: words } = statementTexts('en', settings.review.statements)
    const stated = new Set(readFileSync(sent, 'utf8').split('\n'))
    stated.delete('')
    const onTopic = new Map<string, ActionTaken>()
    /** Of all tenants: one file of what was sent may serve several. */
    const puids = new Set<string>()
    const history = topicHistory(await readingClient(settings, terminal), { signal, say: terminal.say })
    const { actions } = topicsOf(settings)
    await history.read(actions, await history.rangesOf(actions, null), (messages) => {
      for (const { key, value } of messages) {
        const action = value === null ? null : takenIn(value)
        if (action === null || key !== subjectKeyOf(action)) continue
        puids.add(puidOf(action.tenant, action.id))
        if (action.tenant === tenant && !onTopic.has(action.id)) onTopic.set(action.id, action)
      }
    })
    const record = await recordReaderOf(settings)
    const found: Difference[] = []
    const known = new Set<string>()
    try {
      for await (const one of reportedActions(record, { tenant, since, until, map: words })) {
        known.add(one.action)
        const puid = puidOf(tenant, one.action)
        const differs = (how: string) => void found.push({ of: one.action, differs: how })
        if (!onTopic.has(one.action)) differs('is in the record, and not on the topic')
        if (one.statement === null) differs(`has no statement: ${one.why}`)
        else if (!one.isWithdrawn && !stated.has(puid)) differs('its statement was not sent')
      }
    } finally {
      await record.close()
    }
    for (const puid of stated)
      if (!puids.has(puid)) found.push({ of: puid, differs: 'was sent, and the topic has no action for it' })
    const kept = Math.max(since, keptSince(settings.record.keep))
    for (const { id, at, what } of onTopic.values())
      if (what !== 'none' && at >= kept && at < until && !known.has(id))
        found.push({ of: id, differs: 'is on the topic, and not in the record' })
    return found
  },
  print(found, { json, terminal }) {
    for (const one of found)
      terminal.out(json ? JSON.stringify(one) : `${printable(one.of, 200)}: ${printable(one.differs, 1_000)}`)
    if (found.length > 0) throw new OperatorError(`${found.length} differ.`)
    if (!json) terminal.say('Report, statements, record and topic agree.')
  },
}

function takenIn(value: Buffer): ActionTaken | null {
  try {
    const read = actionMessage.safeParse(parseMessage(value.toString('utf8')))
    return read.success && read.data.withdraw !== true ? read.data : null
  } catch {
    return null
  }
}
