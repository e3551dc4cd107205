import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { secretForReading } from '../../src/app/commands/secret-for-reading.ts'
import { appealHearings } from '../../src/app/composition/hearings.ts'
import { type AppealOutcome, appealOutcome } from '../../src/contracts/facts/appeal-messages.ts'
import { transcript } from '../../src/contracts/facts/verdict.ts'
import { recordReaderOf } from '../../src/record/record-store.ts'
import { performWords } from '../support/commands.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import {
  allFinal,
  environmentOn,
  eventually,
  protocolsOn,
  recordsOf,
  send,
  settingsOf,
  verdictsOf,
} from '../support/pipeline.ts'

/** Appeals from the door to their outcomes, through kills, with this record. */
export function answersAppeals(store: string, variables: () => Readonly<Record<string, string>>): void {
  const it = onServers({ latencyMs: 5 })
  it(`appeals of author and notifier are answered by somebody else, once each, through a kill -9, with ${store}`, {
    timeout: 300_000,
  }, async ({ stack, start }) => {
    const folder = ownFolder(`appeals-${store}`)
    const environment = environmentOn(stack, {
      ...protocolsOn('hate'),
      GAVEL_CLOCK_IDLE_AFTER: '1s',
      GAVEL_DRAIN: '3s',
      GAVEL_RECORD_PATH: join(folder, 'record.sqlite'),
      GAVEL_REVIEW_BLIND_SHARE: '0',
      GAVEL_REVIEW_AUDIT_SHARE: '0',
      ...variables(),
    })
    const settings = settingsOf(environment)
    const gavel = async (...words: string[]) => (await performWords(words, settings)).out.join('\n')
    const appeal = (id: string, ...words: string[]) =>
      gavel(
        'appeal',
        id,
        ...(words.includes('--withdraw') ? [] : ['--text', 'I quoted', '--contact', `case ${id}`]),
        ...words,
      )
    const waiting = async (person: string) =>
      (await gavel('review', 'list', '--for', person, '--reason', 'appealed')).match(/hate~\S+/g)?.sort() ?? []
    const answer = (item: string, by: string, label: string, id: string) => {
      const why = ['--why', 'Ticket 88.', '--code', 'context', '--appeal', id]
      return gavel('review', 'decide', item, '--label', label, '--by', by, ...why)
    }
    const outcomes = async () =>
      (await recordsOf(environment, 'appealOutcomes')).map((one) => appealOutcome.parse(JSON.parse(one)))
    const verdict = async (id: string) => (await verdictsOf(environment)).findLast(({ subjectId }) => subjectId === id)
    const other = (label: string | null | undefined) => (label === 'hate' ? 'non-hate' : 'hate')

    let service = await start(environment, 'intake,judge,publish,record')
    const file = join(folder, 'posts.jsonl')
    const posts = ['a', 'b', 'c'].map((id) => ({ type: 'post', id, text: `They are all vermin, says ${id}.` }))
    writeFileSync(
      file,
      posts.map((one) => `${JSON.stringify({ ...one, createdAt: '2025-03-01T10:00:00Z' })}\n`).join(''),
    )
    await send(environment, file, 'gavel', { kind: 'flat-out' })
    await allFinal(environment, 3, 60_000)
    const first = new Map(
      await Promise.all(['a', 'b', 'c'].map(async (id) => [id, (await verdict(id))?.label] as const)),
    )

    await appeal('of-author', '--by', 'author', '--verdict', 'hate~a~r1')
    await appeal('of-notifier', '--by', 'notifier', '--subject', 'b')
    await service.kill('SIGKILL')
    await appeal('of-author', '--by', 'author', '--verdict', 'hate~a~r1')
    await appeal('again', '--by', 'author', '--verdict', 'hate~a~r1')
    await appeal('of-nothing', '--by', 'author', '--verdict', 'hate@acme~a~r1')
    await appeal('taken-back', '--by', 'notifier', '--subject', 'c')
    await appeal('taken-back', '--withdraw')
    service = await start(environment, 'intake,judge,publish,record')
    await eventually(async () => (await waiting('ann')).length === 2, 60_000)
    expect(await waiting('ann')).toEqual(['hate~a~r1', 'hate~b~r1'])

    // The models are heard on it: of the debate that was, the turns and the judge are asked again, and no perspective.
    const record = await recordReaderOf(settings)
    const read = { now: () => settings, secret: () => secretForReading(settings, () => {}), report: () => {} }
    const hearings = appealHearings(read.now, { record, ...read })
    const asked = () => (stack.understudy?.calls() ?? []).map(({ stage, question }) => ({ stage, question }))
    const before = asked()
    const ruled = await record.verdict('hate~a~r1')
    if (ruled === null) throw new Error('the record has no verdict')
    const words = [{ by: 'author', text: 'I quoted' }] as const
    const heard = await hearings.hear(ruled.verdict, words, new AbortController().signal)
    const anew = asked().slice(before.length)
    expect(heard).toMatchObject({ questions: anew.length, degraded: ruled.verdict.degraded })
    const turns = transcript.parse(JSON.parse((await record.transcript('hate~a~r1')) ?? '')).turns
    const rests = turns.map(({ stage }) => stage).filter((stage) => stage !== 'perspective')
    expect(turns.length).toBeGreaterThan(rests.length)
    expect(anew.map(({ stage }) => stage)).toEqual(rests)
    expect(anew.filter(({ question }) => before.some((one) => one.question === question))).toEqual([])
    // It is no verdict.
    expect((await verdict('a'))?.id).toBe('hate~a~r1')
    await record.close()

    // The author's is upheld, and nobody asks them again; the notifier's goes on, by another person.
    await answer('hate~a~r1', 'ann', first.get('a') ?? '', 'of-author')
    await answer('hate~b~r1', 'ann', first.get('b') ?? '', 'none-of-this-name')
    await service.kill('SIGKILL')
    service = await start(environment, 'intake,judge,publish,record')
    await eventually(async () => (await waiting('ben')).join() === 'hate~b~r2', 60_000)
    expect([await waiting('ann'), await waiting('ben')]).toEqual([[], ['hate~b~r2']])
    await answer('hate~b~r2', 'ben', other(first.get('b')), 'of-notifier')
    const all = async () => new Map((await outcomes()).map((one) => [one.id, one] as const))
    await eventually(
      async () => (await all()).size === 5,
      60_000,
      () => service.log.slice(-10).join('\n'),
    )
    const became = Object.fromEntries([...(await all())].map(([id, { outcome }]) => [id, outcome]))
    expect(became).toEqual({
      'of-author': 'upheld',
      'of-notifier': 'reversed',
      again: 'repeated',
      'of-nothing': 'unknown',
      'taken-back': 'withdrawn',
    })
    expect((await all()).get('of-notifier')).toMatchObject({ verdict: 'hate~b~r3', label: other(first.get('b')) })
    expect((await verdict('b'))?.label).toBe(other(first.get('b')))
    // At least once each, and never anything else.
    const bodies = (await outcomes()).map((one: AppealOutcome) => JSON.stringify(one))
    expect(new Set(bodies).size).toBe(5)
    await service.kill('SIGTERM')
  })
}
