import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { Redis } from 'ioredis'
import { describe, expect, it as plainIt } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { topicsOf } from '../../config/topics.ts'
import { entryOf } from '../../src/contracts/facts/entry-of.ts'
import { SCHEMAS } from '../../src/kit/contracts/all.ts'
import { version as packageVersion } from '../../src/platform/package-folder.js'
import { recordReaderOf, reviewQueueOf } from '../../src/record/record-store.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { environmentOn, eventually, send, settingsOf, verdictsOf } from '../support/pipeline.ts'
import {
  fieldsPrinted,
  kept,
  placeOf,
  releases,
  restoreRedis,
  restoreTopics,
  SETTINGS,
  type StoredKey,
  type StoredRecord,
  surface,
} from './left-behind.ts'

const it = onServers({ latencyMs: 0 }, 'memory')

/** The record of a release, or of another version, in a folder of its own, and settings that lead to it. */
function recordOf(version: string, file = placeOf(version, 'record.sqlite.gz')) {
  const path = join(ownFolder('release-record'), 'record.sqlite')
  writeFileSync(path, gunzipSync(readFileSync(file)))
  return { path, settings: loadSettings({ GAVEL_RECORD_PATH: path, ...SETTINGS }) }
}

/** What is missing of the second in the first, a path each. */
function without(now: unknown, then: unknown, path = ''): string[] {
  if (typeof then !== 'object' || then === null || Array.isArray(then))
    return JSON.stringify(now) === JSON.stringify(then) ? [] : [`${path}: ${JSON.stringify(then)}`]
  return Object.entries(then).flatMap(([name, value]) => without(entryOf(Object(now), name), value, `${path}.${name}`))
}

describe.each(releases)('what %s left behind', (version) => {
  plainIt('its settings are taken, each with its value', () => {
    const file = join(ownFolder('release-settings'), 'settings.json')
    const { written, meant } = kept<{ written: unknown; meant: unknown }>(version, 'settings')
    writeFileSync(file, JSON.stringify(written))
    expect(without(loadSettings({}, file), meant)).toEqual([])
  })

  plainIt('its metrics, commands, options and the fields that commands print are there', async () => {
    const then = kept<Awaited<ReturnType<typeof surface>> & { printed: Record<string, string[]> }>(version, 'surface')
    const now = await surface()
    expect(then.metrics.length).toBeGreaterThan(90)
    expect(then.metrics.filter((one) => !now.metrics.includes(one))).toEqual([])
    const options = (all: Record<string, string[]>) =>
      Object.entries(all).flatMap(([path, own]) => [path, ...own.map((one) => `${path} ${one}`)])
    const there = options(now.commands)
    expect(options(then.commands).filter((one) => !there.includes(one))).toEqual([])
    const printed = await fieldsPrinted(recordOf(version).settings)
    for (const [line, fields] of Object.entries(then.printed)) {
      expect(fields.length, line).toBeGreaterThan(3)
      expect([line, fields.filter((one) => !printed[line]?.includes(one))]).toEqual([line, []])
    }
  })

  plainIt('its messages are read', () => {
    const topics = kept<Record<string, StoredRecord[]>>(version, 'topics')
    const names = topicsOf(loadSettings({}))
    const read = Object.entries(topics).flatMap(([name, records]) => {
      const schema = JSON.parse(
        readFileSync(join(SCHEMAS, `${entryOf(names, name)?.replace('gavel.', '')}.schema.json`), 'utf8'),
      )
      const isValid = addFormats.default(new Ajv2020({ strict: false })).compile(schema)
      return records.flatMap(([, , , value]) =>
        value === null
          ? []
          : [[name, isValid(JSON.parse(Buffer.from(value, 'base64').toString('utf8'))), isValid.errors]],
      )
    })
    expect(read.length).toBeGreaterThan(30)
    expect(read.filter(([, isRead]) => isRead !== true)).toEqual([])
  })

  plainIt('its record is read: verdicts, words, people’s decisions and the queue', async () => {
    const { settings } = recordOf(version)
    const [record, queue] = [await recordReaderOf(settings), await reviewQueueOf(settings)]
    try {
      const found = await record.find({ subject: 'f1' }, 20)
      expect(found.find(({ verdict }) => verdict.decidedBy === 'human')?.verdict).toMatchObject({
        label: 'rumor',
        protocol: 'rumor',
      })
      const { found: byWords } = await record.search('mast of f2', {}, 10)
      expect(new Set(byWords.map(({ subject }) => subject.postId))).toEqual(new Set(['f2']))
      expect(await record.find({ subject: 'f3' }, 20)).toMatchObject([{ verdict: { decidedBy: 'deleted' } }, {}])
      expect(
        (await queue.decisions({ viewer: 'lea', since: 0 }, 10)).map(({ by, isCurrent }) => [by, isCurrent]),
      ).toEqual([['ann', true]])
      expect(
        (await queue.comparedGroups({ since: 0 })).map((one) => [one.protocol, one.source, one.seen]).sort(),
      ).toEqual([
        ['hate', 'feedback', 'blind'],
        ['rumor', 'decision', 'blind'],
      ])
    } finally {
      await Promise.all([record.close(), queue.close()])
    }
  })

  it('its Redis goes on: what was judged, being judged, waiting, decided and deleted', { timeout: 180_000 }, async ({
    stack,
    start,
  }) => {
    const { path } = recordOf(version)
    const environment = environmentOn(stack, { ...SETTINGS, GAVEL_RECORD_PATH: path })
    const settings = settingsOf(environment)
    const redis = new Redis(settings.redis.url)
    await restoreRedis(redis, kept<StoredKey[]>(version, 'redis'))
    redis.disconnect()
    await restoreTopics(environment, settings, kept(version, 'topics'))
    const before = await verdictsOf(environment)
    const createdAt = '2026-11-28T00:00:00Z'
    const file = join(ownFolder('release-lines'), 'lines.jsonl')
    const lines = [
      { type: 'post', id: 'new', text: 'A new post.', createdAt },
      { type: 'post', id: 'later', text: 'The post of an orphan.', createdAt },
      // It was deleted, and is no post again.
      { type: 'post', id: 'unknown', text: 'It comes after its deletion.', createdAt },
      { type: 'post', id: 'f1', text: 'The mast of f1 stands.', createdAt },
    ]
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    // Before the clock goes on: an orphan waits an hour by it.
    await send(environment, file, 'gavel', { kind: 'flat-out' })
    const service = await start(environment, 'intake,judge,publish,record')
    let verdicts = before
    const isFinal = (id: string) =>
      ['rumor', 'hate'].every((protocol) =>
        verdicts.some((one) => one.final && one.protocol === protocol && one.subjectId === id),
      )
    const awaited = ['g1', 'g2', 'h1', 'h2', 'h3', 'h4', 'w1', 'later', 'new']
    await eventually(
      async () => {
        verdicts = await verdictsOf(environment)
        return awaited.every(isFinal)
      },
      120_000,
      () => `${awaited.filter((id) => !isFinal(id))}; ${service.log.slice(-10).join('\n')}`,
    )
    expect(verdicts.slice(0, before.length)).toEqual(before)
    expect(new Set(verdicts.map(({ id }) => id)).size).toBe(verdicts.length)
    for (const chain of Map.groupBy(verdicts, ({ id }) => id.replace(/~r\d+$/, '')).values())
      expect(chain.map(({ revision }) => revision).sort((a, b) => a - b)).toEqual(chain.map((_, n) => n + 1))
    // The person's word stands over the edit, the orphan has its post, and what was deleted stays so.
    const last = (protocol: string, id: string) =>
      verdicts.filter((one) => one.protocol === protocol && one.subjectId === id).at(-1)
    expect(last('rumor', 'f1')).toMatchObject({ decidedBy: 'human', label: 'rumor' })
    expect(last('rumor', 'later')?.counts.accepted).toBe(1)
    expect(last('rumor', 'unknown')).toBeUndefined()
    expect(last('hate', 'f3')).toMatchObject({ decidedBy: 'deleted' })
    // Which version goes on stands in its log's first line, in its metrics and in its verdicts.
    const gavel = packageVersion()
    expect(JSON.parse(service.log[0] ?? '{}')).toMatchObject({ identity: { version: gavel } })
    const metrics = await (await fetch(`http://127.0.0.1:${service.httpPort}/metrics`)).text()
    expect(metrics).toMatch(new RegExp(`^gavel_build_info\\{version="${gavel.replaceAll('.', '\\.')}",`, 'm'))
    expect(last('rumor', 'new')?.versions.gavel).toBe(gavel)
    const record = await recordReaderOf(settings)
    try {
      await eventually(async () => (await record.find({ subject: 'new' }, 9)).length >= 2, 60_000)
      expect((await record.size()).rows.unread).toBe(0)
    } finally {
      await record.close()
    }
  })
})

plainIt('a record of the last commit that knew schema 1 alone is read, and compared', async () => {
  const { settings } = recordOf('f57c605c', join(import.meta.dirname, 'f57c605c.record.sqlite.gz'))
  const [record, queue] = [await recordReaderOf(settings), await reviewQueueOf(settings)]
  try {
    const found = await record.find({}, 20)
    expect(found.map(({ verdict: { id, decidedBy } }) => `${id} ${decidedBy}`).sort()).toEqual([
      'rumor~f1~r1 judge',
      'rumor~f1~r2 human',
      'rumor~f2~r1 judge',
    ])
    const { found: byWords } = await record.search('mast of f2', {}, 10)
    expect(byWords.map(({ subject }) => subject.postId)).toEqual(['f2'])
    expect(
      (await queue.decisions({ viewer: 'lea', since: 0 }, 10)).map(({ by, isCurrent }) => [by, isCurrent]),
    ).toEqual([['ann', true]])
    const compared = await queue.comparedGroups({ since: 0 })
    expect(compared.map((one) => [one.source, one.machine, one.people, one.seen, one.lang]).sort()).toEqual([
      ['decision', 'rumor', 'non-rumor', 'unknown', 'en'],
      ['feedback', 'rumor', 'rumor', 'unknown', 'en'],
    ])
  } finally {
    await Promise.all([record.close(), queue.close()])
  }
})
