import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { recover } from '../../src/app/commands/recover.ts'
import { connect } from '../../src/store/redis/connect.ts'
import { dice } from '../chaos/dice.ts'
import { IN_PROOF } from '../support/in-proof.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { eventually, type Service, settingsOf, silent, tell, transcriptsOf, verdictsOf } from '../support/pipeline.ts'
import { filesWith } from '../support/stored.ts'
import { caseText, type Role, splitRoles, WORDS, wordsOf } from './shown.ts'

const folder = ownFolder('shown')
const it = onServers({ latencyMs: 0 })
  .extend('redis', { scope: 'file' }, ({ stack }, { onCleanup }) => {
    const redis = connect(stack.settings.REDIS_URL ?? '', () => {}, 'fail-fast')
    onCleanup(() => redis.disconnect())
    return redis
  })
  .extend('split', ({ stack, redis }, { onCleanup }) => {
    const opened: Awaited<ReturnType<typeof splitRoles>>[] = []
    onCleanup(async () => void (await Promise.all(opened.map((gavel) => gavel.close()))))
    return async (name: string, precedents: number, asked?: (body: string) => Promise<unknown>) => {
      const gavel = await splitRoles({ stack, redis, folder }, name, precedents, asked)
      opened.push(gavel)
      return gavel
    }
  })

it('items learnt from a deleted post are sent to nobody any more, and are erased, even if intake has no library', {
  timeout: 180_000,
}, async ({ split }) => {
  const CASES = 12
  let goOn = () => {}
  const waiting = new Promise<void>((resolve) => {
    goOn = resolve
  })
  // The questions that show precedents stay under way until the deletion is known.
  const gavel = await split('held', 3, (body) => (body.match(WORDS) === null ? Promise.resolve() : waiting))
  const { echo, library, environment, sendAll } = gavel
  await Promise.all((['publish', 'judge', 'judge', 'intake'] as const).map(gavel.start))
  await sendAll(...Array.from({ length: CASES }, (_, nth) => ({ type: 'post', id: `case${nth}`, text: caseText(nth) })))
  // A call that is held so long may be given up and made again: each case counts once.
  const shown = () =>
    Array.from({ length: CASES }, (_, nth) => nth).filter((nth) =>
      echo.asked.some(({ body }) => body.includes(wordsOf(0)) && body.includes(caseText(nth))),
    ).length
  await eventually(
    async () => shown() === CASES,
    60_000,
    () => `${shown()} of ${CASES} were shown the words`,
  )

  await sendAll({ type: 'post', id: 'p0', deleted: true }, { type: 'post', id: 'p1', deleted: true })
  await eventually(async () => (await gavel.isDeleted(0)) && gavel.isDeleted(1), 30_000)
  const before = echo.asked.length
  goOn()
  await eventually(async () => (await verdictsOf(environment)).length >= CASES, 90_000)

  const later = echo.asked.slice(before).map(({ body }) => body)
  for (const gone of [0, 1]) {
    expect(later.filter((body) => body.includes(wordsOf(gone)))).toEqual([])
    await eventually(async () => !(await gavel.stored()).some((one) => one.includes(wordsOf(gone))), 30_000)
    await eventually(async () => filesWith(wordsOf(gone), library).length === 0, 30_000)
  }
  // They go on with nothing that a later deletion could concern; others are shown what is left.
  expect(later.filter((body) => body.includes(wordsOf(2)))).toEqual([])
  expect(filesWith(wordsOf(2), library)).not.toEqual([])
  const [verdicts, transcripts] = [await verdictsOf(environment), await transcriptsOf(environment)]
  await sendAll({ type: 'post', id: 'case-later', text: caseText(CASES) })
  await eventually(
    async () => echo.asked.some(({ body }) => body.includes(wordsOf(2)) && body.includes(caseText(CASES))),
    60_000,
  )
  expect(new Set(verdicts.map(({ id }) => id)).size).toBe(CASES)
  expect(verdicts.map(({ revision }) => revision)).toEqual(verdicts.map(() => 1))
  for (const gone of [0, 1]) expect(JSON.stringify([verdicts, transcripts])).not.toContain(wordsOf(gone))
})

it('is erased from the shelf of those who judge, where intake has none', { timeout: 90_000 }, async ({ split }) => {
  const gavel = await split('apart', 3)
  const { library, sendAll } = gavel
  await Promise.all((['publish', 'judge', 'intake'] as const).map(gavel.start))
  await sendAll({ type: 'post', id: 'p0', deleted: true })
  await eventually(() => gavel.isDeleted(0), 30_000)
  const holding = () => filesWith(wordsOf(0), library).map((file) => file.slice(library.length))
  await eventually(
    async () => holding().length === 0,
    30_000,
    () => `the judges' shelf holds the words of a deleted post: ${holding().join(', ')}`,
  )
  expect(filesWith(wordsOf(1), library)).not.toEqual([])
})

it.runIf(IN_PROOF)(
  'nor at random moments, with every role killed in between: nothing comes back, and the shelves follow',
  {
    timeout: 280_000,
  },
  async ({ split }) => {
    const [PRECEDENTS, CASES] = [12, 60]
    const gavel = await split('random', PRECEDENTS)
    const { echo, library, environment, sendAll } = gavel
    const { between } = dice(20260601, 'shown')
    const roles: Record<Role, Service> = {
      publish: await gavel.start('publish'),
      judge: await gavel.start('judge'),
      intake: await gavel.start('intake'),
    }
    const pauses = monitorEventLoopDelay()
    pauses.enable()
    const known = new Map<number, number>()
    const back = new Set<string>()
    /** When each was gone, ms since 1970. */
    const clear = new Map<string, number>()
    let watching = true
    const watch = (async () => {
      while (watching) {
        const stored = await gavel.stored()
        const prefix = ':thread:default:p'
        for (let nth = 0; nth < PRECEDENTS; nth++)
          if (!known.has(nth) && stored.some((one) => one.includes(`${prefix}${nth} `))) known.set(nth, Date.now())
        const found = new Set(stored.join('\n').match(WORDS) ?? [])
        for (const nth of known.keys()) {
          const words = wordsOf(nth)
          const isThere = found.has(words) || filesWith(words, library).length > 0
          if (!isThere && !clear.has(words)) clear.set(words, Date.now())
          if (isThere && clear.has(words)) back.add(words)
        }
        await sleep(50)
      }
    })()
    const sending = (async () => {
      for (let nth = 0; nth < CASES; nth += 4) {
        await sendAll(...[0, 1, 2, 3].map((at) => ({ type: 'post', id: `case${nth + at}`, text: caseText(nth + at) })))
        await sleep(between(0, 800))
      }
    })()
    const deleted = Array.from({ length: PRECEDENTS / 2 }, (_, nth) => 2 * nth)
    const deleting = (async () => {
      for (const nth of deleted) {
        await sleep(between(200, 2_500))
        // Some say it twice; and others say it of other subjects whose ids are the same.
        await sendAll(
          { type: 'post', id: `p${nth}`, deleted: true },
          { type: 'post', id: `p${nth + 1}`, tenant: 'acme', deleted: true },
          { type: 'counterspeech', id: `p${nth + 1}`, deleted: true },
          ...(between(0, 1) === 0 ? [] : [{ type: 'post', id: `p${nth}`, deleted: true }]),
        )
      }
    })()
    const killing = (async () => {
      for (const role of ['judge', 'intake', 'publish', 'judge'] as const) {
        await sleep(between(1_500, 3_000))
        await roles[role].kill('SIGKILL')
        await sleep(between(0, 1_000))
        roles[role] = await gavel.start(role)
      }
    })()
    await Promise.all([sending, deleting, killing])
    const subjects = async () => new Set((await verdictsOf(environment)).map(({ subjectId }) => subjectId)).size
    await eventually(async () => (await subjects()) >= CASES, 120_000)
    let left: string[] = []
    let waiting: string[] = []
    await eventually(
      async () => {
        const stored = await gavel.stored()
        waiting = stored.filter((one) => one.includes('}:erasures/'))
        left = deleted.flatMap((nth) => [
          ...stored.flatMap((one) => (one.includes(wordsOf(nth)) ? [`${wordsOf(nth)} in ${one.slice(0, 120)}`] : [])),
          ...filesWith(wordsOf(nth), library),
        ])
        return left.length === 0
      },
      30_000,
      () =>
        [
          ...left,
          ...waiting,
          ...roles.judge.log.filter((line) => line.includes('erasure') || line.includes('"level":"error"')),
        ].join('\n'),
    )
    await sleep(2_000)
    watching = false
    await watch

    expect([...back]).toEqual([])
    expect([...known.keys()].sort((a, b) => a - b)).toEqual(deleted)
    expect(echo.repeated()).toBeGreaterThan(0)
    // A question that was on its way when the deletion came is no question after it. While this process pauses it reads nothing.
    const onTheWayMs = 500 + pauses.max / 1e6
    const late = deleted.flatMap((nth) => {
      const after = echo.asked.filter(({ body, at }) => body.includes(wordsOf(nth)) && at > (known.get(nth) ?? 0))
      return after.map(({ at }) => at - (known.get(nth) ?? 0))
    })
    tell(`shown: ${late.length} questions came after a deletion, by ${late.join(', ')} ms at most ${onTheWayMs}`)
    expect(late.filter((ms) => ms > onTheWayMs)).toEqual([])
    const waits = [...known].map(([nth, at]) => (clear.get(wordsOf(nth)) ?? Number.NaN) - at)
    tell(`shown: gone after ${waits.join(', ')} ms, with judges being killed`)
    tell(`shown: ${echo.asked.length} questions, ${deleted.length} deletions, ${CASES} cases`)
    const kept = Array.from({ length: PRECEDENTS / 2 }, (_, nth) => 2 * nth + 1)
    for (const nth of kept) expect(filesWith(wordsOf(nth), library)).not.toEqual([])
    expect(gavel.logs().filter((line) => line.match(WORDS) !== null)).toEqual([])
  },
)

it.runIf(IN_PROOF)(
  'is erased after Redis was emptied, too: a recovery notes what was deleted',
  { timeout: 120_000 },
  async ({ redis, split }) => {
    const gavel = await split('emptied', 3)
    const { library, environment, sendAll } = gavel
    const prefix = environment.GAVEL_REDIS_PREFIX
    // Nobody judges: what is deleted waits.
    const services = [await gavel.start('publish'), await gavel.start('intake')]
    await sendAll({ type: 'post', id: 'p0', deleted: true })
    await eventually(() => gavel.isDeleted(0), 30_000)
    expect(filesWith(wordsOf(0), library)).not.toEqual([])
    for (const service of services) await service.kill('SIGTERM')
    const keys = await redis.keys(`{${prefix}}*`)
    await redis.del(...keys)
    expect(await gavel.isDeleted(0)).toBe(false)
    const io = { terminal: silent, signal: new AbortController().signal }
    expect(await recover(settingsOf(environment), { since: null, dryRun: false }, io)).toMatchObject({
      outcomes: { deleted: 1 },
    })
    await gavel.start('judge')
    await eventually(async () => filesWith(wordsOf(0), library).length === 0, 30_000)
    expect(filesWith(wordsOf(1), library)).not.toEqual([])
  },
)
