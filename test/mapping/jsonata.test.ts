import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { MappingSettingFault } from '../../src/mapping/faults.ts'
import { topicMappings } from '../../src/mapping/mapping.ts'
import type { MappedKind } from '../../src/mapping/messages.ts'
import type { RawRecord, RecordMapping } from '../../src/mapping/source.ts'

const AT = Date.parse('2026-05-01T10:00:00Z')

const mappingOf = (...expressions: string[]) => mappingTo('post', ...expressions)

function mappingTo(kind: MappedKind, ...expressions: string[]) {
  const mapping = topicMappings(expressions.map((jsonata) => ({ topic: 'own', kind, jsonata }))).get('own')
  if (mapping === undefined) throw new Error('no mapping')
  return async (value: unknown, change: Partial<RawRecord> = {}): Promise<RecordMapping> =>
    mapping.map({
      value: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
      key: 'k',
      headers: { h: 'head' },
      timestamp: AT,
      ...change,
    })
}
const made = ({ ok, ...read }: RecordMapping) =>
  'messages' in read ? read.messages.map((one) => JSON.parse(one.value)) : read.why

const POST = '{"id": $.id, "text": $.text, "createdAt": $time}'
/** It takes a minute, in one step. */
const MINUTE = '$count($distinct($distinct($distinct([1..100000]))))'
/** Two seconds of a processor are many where others want it. */
const BUSY = { timeout: 120_000 }
const record = { id: 'p1', text: 'said' }
const message = { id: 'p1', text: 'said', createdAt: '2026-05-01T10:00:00.000Z' }

describe('a mapping in JSONata', () => {
  test('makes messages, one or a list of them, or none', async () => {
    const map = mappingOf(
      '$.items[kept].{"id": id & $headers.h & $key, "text": $uppercase(text), "createdAt": $fromMillis(at)}',
    )
    const item = { id: 'a', text: 'b', at: AT, kept: true }
    expect(made(await map({ items: [item, { ...item, kept: false }, { ...item, id: 'c' }] }))).toEqual([
      { ...message, id: 'aheadk', text: 'B' },
      { ...message, id: 'cheadk', text: 'B' },
    ])
    expect(made(await map({ items: [] }))).toEqual([])
  })

  test.for<[string, string, unknown, unknown]>([
    [
      'an id beyond 2^53 in all its digits',
      '{"id": $string($.id), "text": "t", "createdAt": $time}',
      '{"id": 267081518403440641}',
      [{ id: '267081518403440641', text: 't', createdAt: message.createdAt }],
    ],
    [
      'a regular expression of RE2',
      '{"id": $match($.id, /([a-z]+)-(?:\\d+)/i).groups[0], "text": $replace($.t, /o(.)/, "0$1"), "createdAt": $time}',
      { id: 'X-1', t: 'foo bot' },
      [{ id: 'X', text: 'f0o b0t', createdAt: message.createdAt }],
    ],
    [
      'a field that messages do not have',
      '{"id": "a", "createdAt": $time, "texts": 1}',
      {},
      'texts: is no field of such a message',
    ],
    ['what is no object', '"p1"', {}, 'the expression makes no object of fields'],
    ['a field that the message needs', '{"id": "a"}', {}, 'createdAt: nothing stands there'],
    [
      'an error, without the record’s words',
      '$number($.id)',
      { id: 'secret' },
      'fails with D3030 of JSONata at character 8',
    ],
    ['a value that is not JSON', POST, 'no', 'the value is not JSON'],
  ])('tells %s', async ([, expression, value, wanted]) => {
    expect(made(await mappingOf(expression)(value))).toEqual(wanted)
  })

  test.for<[string, string, unknown, unknown]>([
    ['its post’s id', '{"id": id, "postId": post_id}', { id: 'c', post_id: 'p' }, 'comments'],
    ['no post’s id', '{"id": id, "postId": post_id}', { id: '5' }, 'postId: nothing stands there'],
    ['null there', '{"id": id, "postId": post_id}', { id: '5', post_id: null }, 'postId: nothing stands there'],
    ['no post’s id in its expression', '{"id": postId}', { postId: '5' }, 'posts'],
    [
      'a post’s id by another way',
      '$',
      { id: '5', postId: 'p' },
      'postId: an expression of deletions gives it by this name, "postId"',
    ],
  ])('takes a deletion with %s as a comment’s, a post’s or neither', async ([, expression, value, wanted]) => {
    const read = await mappingTo('deletion', expression)(value)
    expect(read.ok ? read.messages[0]?.topic : read.why).toBe(wanted)
  })

  test.for<[string, string]>([
    ['/(a+)\\1/', 'is no JSONata'],
    ['{"id": ', 'is no JSONata'],
    ['$eval("1")', 'calls $eval'],
    ['($f := $now; $f())', 'calls $now'],
    ['[1..3].$random()', 'calls $random'],
  ])('refuses %s at the start', ([expression, why]) => {
    expect(() => mappingOf(expression)).toThrow(MappingSettingFault)
    expect(() => mappingOf(expression)).toThrow(why)
  })

  test.for<[string, string, string]>([
    ['a list of a million', '[1..1000000].{"id": "a"}', 'makes a list of more than 100000 items'],
    ['an endless recursion', '($f := function($n) { 1 + $f($n) }; $f(1))', 'nests deeper than 300 steps'],
    ['an endless loop', '($f := function($n) { $f($n + 1) }; $f(1))', 'takes more than 200000 steps'],
    [
      'a text that doubles',
      '($f := function($t, $n) { $n = 0 ? $t : $f($t & $t, $n - 1) }; {"id": $f("x", 40)})',
      'nests too deep, or makes too long a text',
    ],
    // In a thread this ended the whole process: V8 does so where one text is larger than what is left.
    [
      'a text of 108 MB',
      '{"id": "a", "createdAt": $time, "text": $replace($pad("", 12000, "@u"), "@u", $pad("", 18000, "x"))}',
      'takes more than 64 MB',
    ],
    ['what takes a minute in one step', MINUTE, 'takes longer than 2 s'],
    [
      'what takes all memory',
      '($a := [1..90000]; $f := function($l, $n) { $n = 0 ? $l : $f([$l, [$a]], $n - 1) }; $f([[]], 5000))',
      expect.stringMatching(/^takes (more than 64 MB|longer than 2 s)$/) as unknown as string, // A matcher stands where a text is compared.
    ],
  ])('ends %s, and goes on', BUSY, async ([, expression, why]) => {
    const map = mappingOf(`$.bad ? (${expression}) : ${POST}`)
    const all = await Promise.all([map(record), map({ bad: true }), map(record), map(record, { partition: 1 })])
    expect(all.map(made)).toEqual([[message], why, [message], [message]])
  })

  test('maps other partitions before the first of those that have to be ended, however many wait', BUSY, async () => {
    const map = mappingOf(`$.bad ? ${MINUTE} : ${POST}`)
    const order: string[] = []
    const ask = async (value: unknown, partition: number) => {
      const read = await map(value, { partition })
      order.push(`${partition} ${read.ok}`)
    }
    await ask(record, 1)
    const bad = { bad: true }
    await Promise.all([ask(bad, 1), ask(bad, 1), ask(record, 1), ask(record, 2), ask(record, 2)])
    expect(order).toEqual(['1 true', '2 true', '2 true', '1 false', '1 false', '1 true'])
  })

  test.skipIf(process.platform !== 'linux')(
    'counts the time that a process had, not that of a busy machine',
    async () => {
      const map = mappingOf(POST)
      await map(record)
      const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8')
      const own = children
        .split(' ')
        .filter((pid) => pid !== '' && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('jsonata'))
      const signal = (name: NodeJS.Signals) => {
        for (const pid of own) process.kill(Number(pid), name)
      }
      signal('SIGSTOP')
      const asked = map(record)
      await sleep(2_500)
      signal('SIGCONT')
      expect(made(await asked)).toEqual([message])
    },
  )
})
