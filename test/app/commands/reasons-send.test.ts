import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { sameThreadHalf } from '../../../src/record/sqlite/halves.ts'
import { sqliteRecord } from '../../../src/record/sqlite/record.ts'
import { puidOf } from '../../../src/record/statement-words.ts'
import { at, DAY, feed, KEEP } from '../../contracts/record.ts'
import { performWords } from '../../support/commands.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { completedMapIn } from '../../support/own-map.ts'

/** A database that takes a call whole or not at all, and refuses one statement, and another without saying which it is. */
async function refusing(puid: string, odd: string) {
  const taken: { puid: string; end_date_visibility_restriction?: string }[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      const { statements } = JSON.parse(text) as { statements: typeof taken }
      if (statements.some((one) => one.puid === odd)) {
        response.writeHead(400).end('bad request')
        return
      }
      const errors = statements.map((one, nth) => [`statement_${nth}`, one.puid === puid ? { puid: ['no'] } : null])
      const wrong = errors.filter(([, why]) => why !== null)
      if (wrong.length === 0) taken.push(...statements)
      response.writeHead(wrong.length === 0 ? 201 : 422)
      response.end(JSON.stringify({ errors: Object.fromEntries(wrong) }))
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo // It listens on a port.
  return { url: `http://127.0.0.1:${port}`, taken, close: () => void server.close() }
}

const SHARES = { auditShare: 0, laneShare: 0, blindShare: 0 }

test('the answer to an appeal has words of the map and of the templates alone, in either language, or says what it lacks', async () => {
  const folder = ownFolder('reasons-appeal')
  const path = join(folder, 'record.sqlite')
  const store = await sqliteRecord(
    { path, keep: KEEP, maxBytes: 2 ** 30, sourceKeep: 8 * DAY, ...SHARES },
    sameThreadHalf,
  )
  const topics = feed(store)
  await topics.judged({ protocol: 'hate', label: 'hate', decidedBy: 'judge' }, 'words')
  const act = async (id: string, more: object, seconds = 5) => {
    const rests = {
      subjectId: 'p',
      protocol: 'hate',
      automated: true,
      by: 'rules',
      source: 'notice',
      since: at(seconds),
    }
    await topics.send('actions', 'p', { id, ...rests, at: at(seconds), ...more }, seconds)
  }
  await act('removed', { what: 'remove' })
  await act('labelled', { what: 'label' })
  await topics.send('actions', 'p', { id: 'labelled', withdraw: true, by: 'ann', at: at(50) }, 50)
  await act('over', { what: 'suspend', until: at(40) })
  await act('of-another', { what: 'demote', protocol: 'rumor' })
  await act('unknown', { what: 'HOSTILE {puid}' })
  const appeal = { by: 'author', text: 'HOSTILE {puid}', contact: 'c', verdictId: 'hate~p~r1', at: at(60) }
  await topics.send('appeals', 'e1', { id: 'e1', ...appeal }, 60)
  await topics.send('appeals', 'e2', { id: 'e2', ...appeal, by: 'notifier' }, 60)
  const decision = { subjectId: 'p', protocol: 'hate', label: 'non-hate', against: 1, by: 'ann', why: 'SECRET' }
  await topics.send('decisions', 'p', { ...decision, code: 'context', appeals: ['e1'], at: at(70) }, 70)
  const human = { protocol: 'hate', label: 'non-hate', decidedBy: 'human', revision: 2, seconds: 71 } as const
  await topics.judged({ ...human, decision: { by: 'ann', against: null, of: '0@0' } }, 'words')
  await store.close()
  const map = completedMapIn(folder)
  const settings = (more = '') => {
    writeFileSync(map, `${readFileSync(map, 'utf8')}\n${more}`)
    return loadSettings({ GAVEL_RECORD_PATH: path, GAVEL_REVIEW_STATEMENTS: map })
  }
  const answer = async (id: string, more?: string) =>
    performWords(['reasons', 'appeal', id, '--lang', 'de'], settings(more))
  await expect(answer('e1')).rejects.toThrow('furtherRedress')
  const { out } = await answer('e1', "furtherRedress: { en: 'Go to {id}.', de: 'Weiter unter {id}.' }\n")
  expect(out.join()).toMatch(
    /am 2026-03-01 \(UTC\).* ist p\. Das hatten wir getan: [^:]+ entfernt\. .*ändern sie\. Unsere Maßnahme wird aufgehoben\. .*Der Zusammenhang ändert.*Weiter unter e1\./s,
  )
  expect(out.join()).not.toMatch(/HOSTILE|SECRET|ann/)
  const period = ['--since', at(0), '--until', at(100)]
  const counted = async (...words: string[]) =>
    (await performWords(['report', ...period, ...words], settings())).out
      .join()
      .split(/\r?\n/)
      .filter((line) => /appeal|answer|,e\d,/.test(line))
  expect(await counted()).toEqual([
    expect.stringMatching(/^appeals,.*,hate,,author,reversed,1,,,$/),
    expect.stringMatching(/^appeals,.*,hate,,notifier,open,1,,,$/),
    expect.stringMatching(/^median_seconds_to_answer,.*,hate,,author,reversed,11,,,1$/),
  ])
  expect(await counted('--rows')).toEqual([
    expect.stringMatching(/,appeal,seconds_to_answer$/),
    expect.stringMatching(/,hate,,author,reversed,,e1,11$/),
    expect.stringMatching(/,hate,,notifier,open,,e2,$/),
  ])
  await expect(answer('e2')).rejects.toThrow('it waits for one')
  await expect(answer('e3')).rejects.toThrow('has no appeal e3')
})

test('statements are sent of what was withdrawn too, none by the exempt, and one that is refused holds up no other', async () => {
  const folder = ownFolder('reasons-send')
  const path = join(folder, 'record.sqlite')
  const shares = { auditShare: 0, laneShare: 0, blindShare: 0 }
  const store = await sqliteRecord(
    { path, keep: KEEP, maxBytes: 2 ** 30, sourceKeep: 8 * DAY, ...shares },
    sameThreadHalf,
  )
  const topics = feed(store)
  await topics.judged({ protocol: 'hate', label: 'hate', decidedBy: 'judge' }, 'words')
  const rests = { subjectId: 'p', verdictId: 'hate~p~r1', what: 'remove', automated: true, by: 'rules' }
  for (const [id, more] of Object.entries({ bad: {}, odd: {}, good: {}, over: {}, order: { source: 'order' } }))
    await topics.send('actions', 'p', { id, ...rests, source: 'notice', since: at(5), at: at(5), ...more }, 5)
  await topics.send('actions', 'p', { id: 'over', withdraw: true, by: 'ann', at: at(90_000) }, 90_000)
  await store.close()
  const map = completedMapIn(folder)
  writeFileSync(map, `${readFileSync(map, 'utf8')}\nexempt: { source: [order] }\n`)
  const settings = loadSettings({ GAVEL_RECORD_PATH: path, GAVEL_REVIEW_STATEMENTS: map })
  const database = await refusing(puidOf('default', 'bad'), puidOf('default', 'odd'))
  const [sent, token] = [join(folder, 'sent.txt'), join(folder, 'token')]
  writeFileSync(token, 'secret')
  try {
    const words = ['reasons', 'send', '--sent', sent, '--url', database.url, '--token-file', token]
    await expect(performWords(words, settings)).rejects.toThrow('Some actions have no statement.')
    expect(database.taken.map(({ puid }) => puid).sort()).toEqual(
      ['good', 'over'].map((id) => puidOf('default', id)).sort(),
    )
    const over = database.taken.find(({ puid }) => puid === puidOf('default', 'over'))
    expect(over?.end_date_visibility_restriction).toBe(at(90_000).slice(0, 10))
    expect(readFileSync(sent, 'utf8').split('\n').filter(Boolean)).toHaveLength(2)
    const { said } = await performWords(['reasons', 'over'], settings)
    expect(said).toEqual(['The action was withdrawn: it is no longer in force.'])
  } finally {
    database.close()
  }
})
