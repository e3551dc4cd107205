import { readFileSync } from 'node:fs'
import { Option } from 'commander'
import { topicsOf } from '../../../../config/topics.ts'
import type { Command } from '../../../cli/command.ts'
import { printable } from '../../../cli/terminal.ts'
import { type ActionTaken, actionMessage } from '../../../contracts/facts/action-messages.ts'
import { appealMessage, appealOutcome } from '../../../contracts/facts/appeal-messages.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { jsonOf } from '../../../contracts/facts/json-of.ts'
import { parseMessage } from '../../../contracts/facts/message-json.ts'
import { subjectKeyOf } from '../../../contracts/facts/messages.ts'
import type { RecordReader } from '../../../contracts/ports/record.ts'
import { actionNote } from '../../../record/actions.ts'
import { recordReaderOf } from '../../../record/record-store.ts'
import { puidOf } from '../../../record/statement-words.ts'
import { topicHistory } from '../../../stream/bounded-reader.ts'
import { statementTexts } from '../../composition/statement-texts.ts'
import { readingClient } from '../reading-client.ts'
import { PERIOD_OPTIONS } from './report.ts'
import { keptSince, reportedActions, reportedAppeals, warnOfExpired } from './reported.ts'

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

/** `gavel report reconcile`: holds the report, the statements that were sent, the record's actions and appeals, and their topics against each other. */
export const command: Command<Options, readonly Difference[]> = {
  options: [...PERIOD_OPTIONS, new Option('--sent <file>', 'the file of "gavel reasons send"').makeOptionMandatory()],
  json: true,
  help: 'It names each action and appeal that is not the same in all of them, and exits with 1 if there is one. See docs/reasons.md.\n\nExample:\n  $ gavel report reconcile --since 2026-01-01T00:00:00Z --until 2027-01-01T00:00:00Z --sent sent.txt',
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
    const { actions, appeals, appealOutcomes } = topicsOf(settings)
    await history.read(actions, await history.rangesOf(actions, null), (messages) => {
      for (const { key, value } of messages) {
        const action = value === null ? null : takenIn(value)
        if (action === null || key !== subjectKeyOf(action)) continue
        puids.add(puidOf(action.tenant, action.id))
        if (action.tenant === tenant && !onTopic.has(action.id)) onTopic.set(action.id, action)
      }
    })
    const ofAppeals: AppealsOnTopics = { came: new Map(), ended: new Map() }
    for (const topic of [appeals, appealOutcomes])
      await history.read(topic, await history.rangesOf(topic, null), (messages) => {
        for (const message of messages) noteAppeal(message, tenant, ofAppeals)
      })
    const record = await recordReaderOf(settings)
    const found: Difference[] = []
    const known = new Set<string>()
    const kept = Math.max(since, keptSince(settings.record.keep))
    try {
      const givenUp = new Set(await record.givenUp(tenant))
      for await (const one of reportedActions(record, { tenant, since, until, map: words })) {
        known.add(one.action)
        const puid = puidOf(tenant, one.action)
        const differs = (how: string) => void found.push({ of: one.action, differs: how })
        if (!onTopic.has(one.action)) differs('is in the record, and not on the topic')
        if (one.isExempt) continue
        if (one.statement === null) differs(`has no statement: ${one.why}`)
        else if (!stated.has(puid)) differs('its statement was not sent')
        if (!one.isWithdrawn && givenUp.has(actionNote(tenant, one.action)))
          differs('its statement was given up, and a webhook lacks it')
      }
      found.push(...(await appealsThatDiffer(record, { tenant, since, until, kept }, ofAppeals)))
    } finally {
      await record.close()
    }
    for (const puid of stated)
      if (!puids.has(puid)) found.push({ of: puid, differs: 'was sent, and the topic has no action for it' })
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

/** By their ids: when each appeal came first, and the last word on each. */
interface AppealsOnTopics {
  readonly came: Map<string, number>
  readonly ended: Map<string, string>
}

function noteAppeal(
  { value, timestamp }: { readonly value: Buffer | null; readonly timestamp: number },
  tenant: string,
  { came, ended }: AppealsOnTopics,
): void {
  const json = value === null ? null : jsonOf({ value })
  const told = appealOutcome.safeParse(json).data
  // What was one too many may have been sent again since.
  if (told?.tenant === tenant && (told.outcome !== 'too-many' || !ended.has(told.id))) ended.set(told.id, told.outcome)
  const appeal = told === undefined ? appealMessage.safeParse(json).data : undefined
  if (appeal?.tenant === tenant && appeal.withdraw !== true && !came.has(appeal.id)) came.set(appeal.id, timestamp)
}

/** Appeals that are not the same in the record and on the topics. */
async function appealsThatDiffer(
  record: RecordReader,
  { kept, ...of }: { tenant: string; since: number; until: number; kept: number },
  { came, ended }: AppealsOnTopics,
): Promise<Difference[]> {
  const found: Difference[] = []
  const known = new Set<string>()
  for await (const { appeal, side, ended: outcome } of reportedAppeals(record, of)) {
    known.add(appeal)
    const differs = (how: string) => void found.push({ of: `appeal ${appeal}`, differs: how })
    if (side !== '' && !came.has(appeal)) differs('is in the record, and not on the topic')
    const last = ended.get(appeal) ?? null
    // It was sent again since, and taken.
    const told = last === 'too-many' ? null : last
    if (outcome !== told)
      differs(`is ${outcome ?? 'open'} in the record, and ${told ?? 'open'} on the topic of outcomes`)
  }
  for (const [appeal, at] of came) {
    const isForgotten = ['too-many', 'unknown'].includes(ended.get(appeal) ?? '')
    if (at < kept || at >= of.until || known.has(appeal) || isForgotten) continue
    // It may have been sent again, and count in another period.
    if ((await record.appeals(of.tenant, { id: appeal })).length === 0)
      found.push({ of: `appeal ${appeal}`, differs: 'is on the topic, and not in the record' })
  }
  return found
}

function takenIn(value: Buffer): ActionTaken | null {
  try {
    const read = actionMessage.safeParse(parseMessage(value.toString('utf8')))
    return read.success && read.data.withdraw !== true ? read.data : null
  } catch {
    return null
  }
}
