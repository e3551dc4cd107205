import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { topicsOf } from '../../config/topics.ts'
import { command as act } from '../../src/app/commands/act.ts'
import { command as decide } from '../../src/app/commands/decide.ts'
import { command as reasons } from '../../src/app/commands/reasons/reasons.ts'
import { command as sendReasons } from '../../src/app/commands/reasons/send.ts'
import { command as reconcile } from '../../src/app/commands/report/reconcile.ts'
import { command as report } from '../../src/app/commands/report/report.ts'
import { command as list } from '../../src/app/commands/review/list.ts'
import type { Command } from '../../src/cli/command.ts'
import { type Review, review } from '../../src/contracts/facts/decision-messages.ts'
import { deadLetter } from '../../src/contracts/facts/messages.ts'
import { perform } from '../support/commands.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  allFinal,
  clientOf,
  environmentOn,
  eventually,
  recordsOf,
  send,
  settingsOf,
  silent,
  verdictsOf,
} from '../support/pipeline.ts'
import { mapWithLabels, plantedDatabase } from '../support/planted-statements.ts'

/** What platforms did, from the verdict to the report, through kills, with this record. */
export function accountsForActions(store: string, variables: () => Readonly<Record<string, string>>): void {
  const it = onServers({ latencyMs: 5 })
  it(`judged, acted on, overruled, reversal asked for, stated and reported, through kills of every role, with ${store}`, {
    timeout: 300_000,
  }, async ({ stack, start }) => {
    const folder = ownFolder(`actions-${store}`)
    const environment = environmentOn(stack, {
      GAVEL_CLOCK_IDLE_AFTER: '1s',
      GAVEL_DRAIN: '3s',
      GAVEL_REVIEW_AUDIT_SHARE: '0',
      GAVEL_REVIEW_BLIND_SHARE: '0',
      GAVEL_REVIEW_STATEMENTS: mapWithLabels(folder, 'rumor', ['non-rumor', 'unverified']),
      GAVEL_RECORD_PATH: join(folder, 'record.sqlite'),
      ...variables(),
    })
    const settings = settingsOf(environment)
    const run = async <Options, Result>(
      command: Command<Options, Result>,
      args: string[],
      options: Options & { json?: boolean },
    ) => {
      const lines: string[] = []
      const note = (line: unknown) => void lines.push(String(line))
      const terminal = { ...silent, out: note, say: note }
      await perform(command, settings, args, options, { terminal, signal: new AbortController().signal }).catch(
        (error: Error) => lines.push(error.message),
      )
      return lines.join('\n')
    }
    const reversals = async () =>
      (await recordsOf(environment, 'reviews'))
        .map((json): Review => review.parse(JSON.parse(json)))
        .filter(({ why }) => why === 'reversal')

    let judging = await start(environment, 'intake,judge,publish')
    let recording = await start(environment, 'record')
    const posts = join(folder, `${store}.jsonl`)
    const lines = ['p', 'q'].flatMap((id) => [
      { type: 'post', id, text: 'Xylozebra: the dam has burst.', createdAt: '2025-03-01T10:00:00Z' },
      { type: 'comment', id: `${id}1`, postId: id, text: 'It is true.', createdAt: '2025-03-01T10:01:00Z' },
    ])
    writeFileSync(posts, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    await send(environment, posts, 'gavel', { kind: 'flat-out' })
    await allFinal(environment, 2, 60_000)
    const verdict = (await verdictsOf(environment)).filter(({ subjectId }) => subjectId === 'p').at(-1)
    if (verdict?.label == null) throw new Error('nothing was judged')
    const other = verdict.label === 'rumor' ? 'non-rumor' : 'rumor'

    // Acted on, twice by the same id, and once by what is no action.
    const given = { what: 'remove', source: 'own-initiative', automated: true, by: 'rules', tenant: 'default' } as const
    for (let time = 0; time < 2; time++) await run(act, ['p'], { ...given, id: 'a-p', verdict: verdict.id })
    await run(act, ['q'], { ...given, id: 'a-q', protocol: 'rumor', what: 'demote' })
    const producer = clientOf(environment).producer()
    await producer.connect()
    const odd = JSON.stringify({ id: 'odd', subjectId: 'p', by: 'x', at: '2026-01-01T00:00:00Z' })
    await producer.send({ topic: topicsOf(settings).actions, messages: [{ key: 'p', value: odd }] })
    await producer.disconnect()
    await Promise.all([judging.kill('SIGKILL'), recording.kill('SIGKILL')])
    judging = await start(environment, 'intake,judge,publish')
    await eventually(
      async () =>
        (await recordsOf(environment, 'deadLetters')).some((json) =>
          deadLetter.parse(JSON.parse(json)).topic.endsWith('actions'),
        ),
      30_000,
    )

    // Overruled while the record is down; killed once more as it asks.
    await run(decide, ['p'], {
      protocol: 'rumor',
      label: other,
      by: 'ann',
      why: 'Ticket 88.',
      tenant: 'default',
      most: 1_000,
    } as never) // Of its options those that matter.
    recording = await start(environment, 'record')
    await eventually(async () => (await reversals()).length > 0, 60_000)
    const overruling = (await reversals())[0]?.verdict
    await recording.kill('SIGKILL')
    recording = await start(environment, 'record')
    const waits = async () =>
      (await run(list, [], { reason: 'reversal', most: 10, json: true } as never)).includes(`"${overruling}"`) // As above.
    await eventually(waits, 30_000)
    expect(new Set((await reversals()).map(({ id, action }) => [id, action].join(' ')))).toEqual(
      new Set([`${overruling}~reversal~a-p a-p`]),
    )

    // Stated: what it says of who decided is what was so when it was done.
    const stating = { lang: 'en', tenant: 'default' } as const
    const text = await run(reasons, ['a-p'], { ...stating, format: 'text' })
    expect(text).toContain('We removed your content.')
    expect(text).toContain('no person took part')
    expect(text).not.toContain('Xylozebra')
    expect(await run(reasons, ['a-none'], { ...stating, format: 'text' })).toContain('no action a-none')

    const database = await plantedDatabase()
    const token = join(folder, 'token')
    writeFileSync(token, 'secret\n')
    const sent = join(folder, `${store}-sent.txt`)
    const sending = { ...stating, sent, url: database.url, tokenFile: token }
    const period = { since: Date.now() - 3_600_000, until: Date.now() + 60_000, tenant: 'default' }
    writeFileSync(sent, '')
    expect(await run(reconcile, [], { ...period, sent })).toMatch(/a-p: its statement was not sent[\s\S]*2 differ/)
    expect(await run(sendReasons, [], { ...sending, dryRun: true })).toContain('2 statements would be sent')
    // The answer to the first call is lost: the second finds them there.
    expect(await run(sendReasons, [], sending)).not.toContain('statements sent')
    await run(sendReasons, [], sending)
    expect(await run(sendReasons, [], sending)).toContain('0 statements sent, 2 sent before')
    expect([...database.taken.values()]).toEqual([1, 1])
    database.close()

    const figures = await run(report, [], period)
    expect(figures).toContain('DECISION_VISIBILITY_CONTENT_REMOVED')
    expect(
      figures
        .split('\r\n')
        .filter((line) => /^\uFEFF?actions,/.test(line))
        .map((line) => line.split(',').at(-4)),
    ).toEqual(['1', '1'])
    expect(await run(reconcile, [], { ...period, sent })).toBe('Report, statements, record and topic agree.')

    await run(act, ['p'], { id: 'a-p', withdraw: true, by: 'ann', tenant: 'default' })
    await eventually(async () => !(await waits()), 30_000)
  })
}
