import { expect, test } from 'vitest'
import { type RecoverResult, telling, tellRecovered, understood } from '../../../src/app/commands/recover.ts'
import { outageOf } from '../../../src/app/commands/recovery-parts.ts'
import { silent } from '../../support/pipeline.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')
const MINUTE = 60_000

test('times are printed as they were understood', () => {
  expect(understood({ since: NOW - 2 * MINUTE, upTo: NOW - MINUTE }, NOW)).toEqual([
    expect.stringContaining('2026-03-01T11:58:00.000Z'),
    expect.stringContaining('2026-03-01T11:59:00.000Z'),
  ])
  expect(understood({ since: null, upTo: 'end' }, NOW)).toEqual([])
})

test.each([
  ['--since', { since: NOW + 2 * MINUTE }],
  ['--up-to', { since: null, upTo: NOW + 2 * MINUTE }],
])('a time that is still to come is refused (%s): what was lost would count as taken', (option, options) => {
  expect(() => understood(options, NOW)).toThrow(`${option} 2026-03-01T12:02:00.000Z is still to come`)
})

test('the time of now says that nothing is missing, by whichever clock', () => {
  expect(understood({ since: NOW + MINUTE, upTo: null }, NOW)).toHaveLength(1)
})

test('a beginning behind the end is refused', () => {
  expect(() => understood({ since: NOW - MINUTE, upTo: NOW - 2 * MINUTE }, NOW)).toThrow('is later than --up-to')
})

test('ids with two contents are named whole', () => {
  const said: string[] = []
  const say = (line: string) => void said.push(line)
  const contested = ['rumor~a-1~r1', 'rumor~b-2~r3']
  const none = {
    standing: 0,
    decidedAgain: 0,
    subjects: 0,
    over: 0,
    revisions: 0,
    givenUp: 0,
    messages: 0,
    outcomes: {},
  }
  const done: RecoverResult = { ...none, contested, forecast: null, unknownOffsets: false, dryRun: false, seconds: 1 }
  tellRecovered(done, { json: false }, { terminal: { ...silent, out: say, say } })
  expect(said.join('\n')).toContain('rumor~a-1~r1, rumor~b-2~r3;')
})

test('progress says of how much', () => {
  const shown: string[] = []
  const told = telling({ progress: (line) => void shown.push(line) })
  for (const more of [999, 1, 500, 600]) told('gavel.posts, read again', more, 2_100)
  expect(shown).toEqual(['gavel.posts, read again: 1000 of 2100', 'gavel.posts, read again: 2100 of 2100'])
})

test.each([
  ['connect ECONNREFUSED 127.0.0.1:6379', 'Redis does not answer'],
  ['LOADING Redis is loading the dataset in memory', expect.stringContaining('LOADING')],
  ["NOPERM this user has no permissions to run the 'set' command", expect.stringContaining('NOPERM')],
  ['ERR a bug', null],
])('what Redis says is waited for only where it passes (%s)', (said, why) => {
  expect(outageOf(new Error(said))).toEqual(why)
})

test.each(['NOAUTH Authentication required.', 'WRONGPASS invalid username-password pair'])(
  'a password that was changed is not waited for: it is read at the start (%s)',
  (said) => {
    expect(() => outageOf(new Error(said))).toThrow(/\.$/)
  },
)
