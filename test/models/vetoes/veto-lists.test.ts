import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { vetoes } from '../../../config/vetoes.ts'
import { openVetoLists, type VetoTurns } from '../../../src/models/vetoes/veto-lists.ts'
import { ownFolder } from '../../support/own-folder.ts'

const folder = ownFolder('veto-lists')
const file = (name: string, ...lines: readonly string[]) => {
  writeFileSync(join(folder, name), `${lines.join('\n')}\n`)
  return join(folder, name)
}
const A = createHash('sha256').update('a').digest('hex')

/** What the service is sent, and what it does. */
const sent: unknown[] = []
let respond: (response: ServerResponse) => void = () => {}
const server = createServer((request, response) => {
  let body = ''
  request.on('data', (some) => {
    body += some
  })
  request.on('end', () => {
    sent.push(JSON.parse(body))
    respond(response)
  })
})
let service = ''
beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  service = `http://127.0.0.1:${(server.address() as AddressInfo).port}/match`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

describe('patterns', () => {
  const listsOf = (...patterns: readonly string[]) =>
    openVetoLists(
      vetoes.parse({ spam: { kind: 'pattern', list: file('spam.txt', '# ours', '', ...patterns), labels: {} } }),
    )

  test.for<[string, string, string]>([
    ['as it stands', 'buy: WIN  money NOW!', '(?i)win\\s+money'],
    ['in fullwidth letters', 'ｗｉｎ ｍｏｎｅｙ', '(?i)win\\s+money'],
    ['with invisible characters in it', 'wi\u200bn mo\u00adney', '(?i)win\\s+money'],
    ['with characters that are ignored in it', 'w\u034fi\ufe0fn m\u115fo\u3164ney', '(?i)win\\s+money'],
  ])('match a text %s', async ([, text, pattern]) => {
    const lists = await listsOf('never-there', pattern)
    expect(await lists.findWords(['harmless', text])).toEqual({ list: 'spam', entry: pattern, labels: {} })
    expect(await lists.findWords(['harmless', 'winter money'])).toBeNull()
  })

  test('that take other engines for ever take no time', async () => {
    const lists = await listsOf('(a+)+$', '(x+x+)+y', '(.*a){20}b')
    // A backtracking engine needs some 2^50 steps.
    expect(await lists.findWords([`${'a'.repeat(20_000)}c`, 'x'.repeat(20_000)])).toBeNull()
  })

  test.for<[string, string, string]>([
    ['a backreference', '(a)\\1', 'spam.txt:3 is no pattern of RE2'],
    ['one that matches everything', 'a*', 'spam.txt:3 matches every text'],
    ['a broken one', '(a', 'spam.txt:3 is no pattern of RE2'],
    ['a very long one', 'a'.repeat(1_001), 'spam.txt:3 is longer than 1000 characters'],
  ])('name %s', async ([, pattern, why]) => {
    await expect(listsOf(pattern)).rejects.toThrow(why)
  })
})

describe('a service', () => {
  const listsOf = (change: object = {}) =>
    openVetoLists(vetoes.parse({ theirs: { kind: 'pdq', service, timeout: '300ms', ...change } }))

  test('is sent the hash alone, and names the entry', async () => {
    respond = (response) => void response.end(JSON.stringify({ match: true, entry: 'case 7' }))
    sent.splice(0)
    const lists = await listsOf()
    expect(await lists.findPicture({ sha256: A, pdq: A })).toEqual({
      list: 'theirs',
      entry: 'case 7',
      labels: { safety: 'unsafe' },
    })
    expect(sent).toEqual([{ kind: 'pdq', hash: A, distance: 31 }])
  })

  /** Turns that come at once, and how many there were at lists and at services. */
  function countedTurns() {
    const counts = { looks: 0, asks: 0 }
    const turns: VetoTurns = {
      look(work) {
        counts.looks++
        return work()
      },
      ask(work) {
        counts.asks++
        return work()
      },
    }
    return { counts, turns }
  }

  test('is asked in turns of its own, and once in a minute about one hash', async () => {
    respond = (response) => void response.end(JSON.stringify({ match: false }))
    sent.splice(0)
    const { counts, turns } = countedTurns()
    const now = vi.spyOn(Date, 'now').mockReturnValue(1_000)
    const lists = await listsOf()
    for (let nth = 0; nth < 3; nth++) expect(await lists.findPicture({ pdq: A }, turns)).toEqual({ silent: [] })
    expect([sent.length, counts]).toEqual([1, { looks: 0, asks: 1 }])
    now.mockReturnValue(61_000)
    await lists.findPicture({ pdq: A }, turns)
    expect(sent).toHaveLength(2)
    now.mockRestore()
  })

  test('that is silent is left alone for a while, and then tried by one question; a wrong answer is no silence', async () => {
    const now = vi.spyOn(Date, 'now').mockReturnValue(1_000)
    const lists = await listsOf()
    const ask = (nth: number) => lists.findPicture({ pdq: createHash('sha256').update(String(nth)).digest('hex') })
    const asked = async (from: number, count: number) => {
      sent.splice(0)
      for (let nth = from; nth < from + count; nth++) await ask(nth)
      return sent.length
    }
    respond = (response) => void response.writeHead(500).end('{}')
    expect(await asked(0, 12)).toBe(12)
    respond = (response) => void response.destroy()
    expect(await asked(20, 8)).toBe(5)
    now.mockReturnValue(6_000)
    expect(await asked(30, 3)).toBe(1)
    respond = (response) => void response.end(JSON.stringify({ match: false }))
    expect(await asked(40, 3)).toBe(0)
    now.mockReturnValue(11_000)
    expect(await asked(50, 3)).toBe(3)
    now.mockRestore()
  })

  test('that has it not says so', async () => {
    respond = (response) => void response.end(JSON.stringify({ match: false }))
    expect(await (await listsOf()).findPicture({ pdq: A })).toEqual({ silent: [] })
  })

  test('is not asked about a picture without a hash of its kind', async () => {
    sent.splice(0)
    expect(await (await listsOf()).findPicture({ sha256: A, pdq: null })).toEqual({ silent: [] })
    expect(sent).toEqual([])
  })

  const FAULTS: readonly (readonly [string, (response: ServerResponse) => void])[] = [
    ['hangs', () => {}],
    ['sends for ever', (response) => void response.write('{')],
    ['answers with 500', (response) => void response.writeHead(500).end('{"match": false}')],
    ['answers with a page', (response) => void response.end('<html>')],
    ['says nothing of a match', (response) => void response.end('{}')],
    ['redirects', (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    ['answers with megabytes', (response) => void response.end(' '.repeat(1_000_000))],
  ]
  test.for(FAULTS)('that %s has not answered', async ([, fault]) => {
    respond = fault
    for (const [unavailable, isClosed] of [
      ['fail-closed', true],
      ['fail-open', false],
    ] as const) {
      const lists = await listsOf({ unavailable })
      const search = await lists.findPicture({ pdq: A })
      expect(search).toEqual({ silent: [{ list: 'theirs', why: expect.any(String), isClosed, mayAnswerSoon: true }] })
    }
  })
})

test('what can not be looked for is closed if the strictest of its lists is', async () => {
  const list = file('hashes.txt', A)
  const lists = await openVetoLists(
    vetoes.parse({ one: { kind: 'sha256', list, unavailable: 'fail-open' }, other: { kind: 'pdq', list } }),
  )
  expect([...lists.wants]).toEqual(['sha256', 'pdq'])
  expect(lists.isClosed(new Set(['sha256']))).toBe(false)
  expect(lists.isClosed(new Set(['sha256', 'pdq']))).toBe(true)
})

describe('settings', () => {
  test.for([
    ['neither list nor service', { kind: 'pdq' }],
    ['both', { kind: 'pdq', list: 'a', service: 'https://a.example/' }],
    ['a service of patterns', { kind: 'pattern', service: 'https://a.example/' }],
    ['an unknown kind', { kind: 'md5', list: 'a' }],
    ['no address', { kind: 'pdq', service: 'ftp://a.example' }],
    ['a distance beyond half of the bits', { kind: 'pdq', list: 'a', distance: 128 }],
  ])('with %s are refused', ([, given]) => {
    expect(vetoes.safeParse({ one: given }).success).toBe(false)
  })
})
