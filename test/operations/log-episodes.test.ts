import { expect, it } from 'vitest'
import type { Events } from '../../src/contracts/ports/report.ts'
import { episodeLines } from '../../src/operations/log-episodes.ts'

function setUp() {
  let now = 0
  const episodes = episodeLines(() => now)
  const said: string[] = []
  const tell = (lines: ReturnType<typeof episodes.due>) => {
    for (const { event, fields } of lines) said.push(`${now / 1000} ${event} ${JSON.stringify(fields)}`)
  }
  return {
    said,
    on: (event: keyof Events, fields = {}) => tell(episodes.ofEvent(event, fields) ?? []),
    pass: (seconds: number) => {
      for (let n = 0; n < seconds; n++) {
        now += 1_000
        tell(episodes.due())
      }
    },
    end: () => tell(episodes.due(true)),
  }
}

it('says that a fault begins, once a minute that it lasts, and that it has ended', () => {
  const { said, on, pass } = setUp()
  const stopped = { why: 'no space', advice: 'Free space.' }
  on('record:stopped', stopped)
  for (let n = 0; n < 70; n++) {
    on('record:stopped', stopped)
    pass(1)
  }
  on('record:resumed')
  pass(10)
  expect(said).toEqual([
    `0 record:stopped ${JSON.stringify(stopped)}`,
    `60 record:stopped ${JSON.stringify({ ...stopped, forSeconds: 60, alsoTimes: 60 })}`,
    '75 record:resumed {"afterSeconds":70,"alsoTimes":10}',
  ])
})

it('takes what comes and goes for one fault, and tells faults of several models apart', () => {
  const { said, on, pass } = setUp()
  for (let n = 0; n < 20; n++) {
    on('record:stopped', { why: 'full' })
    on('record:resumed')
    pass(1)
  }
  pass(10)
  expect(said.map((line) => line.split(' ')[1])).toEqual(['record:stopped', 'record:resumed'])
  on('model:away', { model: 'a', why: 'one' })
  on('model:away', { model: 'b', why: 'one' })
  on('model:away', { model: 'a', why: 'another' })
  on('model:answers', { model: 'a' })
  pass(5)
  expect(said.slice(2).map((line) => line.slice(line.indexOf(' ') + 1))).toEqual([
    'model:away {"model":"a","why":"one"}',
    'model:away {"model":"b","why":"one"}',
    'model:away {"model":"a","why":"another"}',
    'model:answers {"model":"a","afterSeconds":0}',
  ])
})

it('says what is pending when the process ends, and an end without a beginning at once', () => {
  const { said, on, end } = setUp()
  on('store:writable')
  on('publication:held', { what: 'verdict', held: true })
  on('publication:held', { what: 'verdict', held: false })
  end()
  expect(said).toEqual([
    '0 store:writable {}',
    '0 publication:held {"what":"verdict","held":true}',
    '0 publication:held {"what":"verdict","held":false,"afterSeconds":0}',
  ])
})
