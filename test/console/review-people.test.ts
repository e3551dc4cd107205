import { expect, it } from 'vitest'
import { ReviewTurns } from '../../src/console/review-shares.ts'
import type { DecisionMessage } from '../../src/contracts/facts/decision-messages.ts'
import type { PersonRole } from '../../src/contracts/facts/person-roles.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { seededRandom } from '../../src/lab/evaluation/statistics/random.ts'
import { at } from '../contracts/record.ts'
import { aConsole, tokenIn } from './console-for-tests.ts'

/** A console in which what people decide is current at once, as far as nobody decided in between. */
async function aQueue(
  more: Parameters<typeof aConsole>[0] = {},
  isHeardOf: (decision: DecisionMessage) => boolean = () => true,
) {
  const decided: DecisionMessage[] = []
  let sent = 0
  const console = await aConsole({
    ...more,
    async decide(decision) {
      decided.push(decision)
      if (!isHeardOf(decision)) return { of: '0@0', decided: null }
      const { subjectId, protocol, label, against, withdraw, by } = decision
      const place = sent++
      const { createdAt: _, at: __, ...message } = decision
      await console.topics.send('decisions', subjectId, { ...message, at: at(90) }, 90)
      if (decision.opinion === true) return { of: '0@0', decided: { outcome: 'noted' } }
      const subject = await console.record.subject({ tenant: 'default', id: subjectId })
      const last = Math.max(
        0,
        ...(subject?.verdicts ?? [])
          .filter(({ verdict }) => verdict.protocol === protocol)
          .map(({ verdict }) => verdict.revision),
      )
      if (last !== against) return { of: '0@0', decided: { outcome: 'late', last } }
      const human = { decidedBy: 'human' as const, label: label ?? null, decision: { by, against: null, of: '0@0' } }
      const machine = { decidedBy: 'consensus' as const, label: 'rumor' }
      const { id } = await console.judged({
        verdict: { subjectId, revision: last + 1, ...(withdraw === true ? machine : human) },
      })
      const outcome = withdraw === true ? 'withdrawn' : 'stands'
      const ended = { schema: 1, subjectId, tenant: 'default', kind: 'post', protocol, outcome, of: `0@${place}` }
      const became = { ...ended, revision: last + 1, label: label ?? null, by, at: at(90) }
      await console.topics.send('decisionOutcomes', subjectId, became, 90)
      return { of: '0@0', decided: { outcome, verdict: id } }
    },
  })
  const enter = async (by: string, role: PersonRole = 'moderator') => {
    const cookie = `gavel-console-8421=${console.sessions.open({ by, grants: [{ role }] })}`
    const token = tokenIn((await console.page('/health', cookie)).text)
    const to = async (path: string, fields: Record<string, string> = {}) => {
      const answer = await console.post(path, { token, ...fields }, { cookie })
      return answer.headers.get('location') ?? `${answer.status}`
    }
    return { cookie, to, page: async (path: string) => (await console.page(path, cookie)).text }
  }
  return { console, decided, enter }
}

const idsIn = (page: string) =>
  [...page.matchAll(/action="\/review\/take">.*?name="carried" value="([^"]+)"/g)].map(([, id]) => id)

it('a moderator replaces no verdict of another person: what they think is an opinion; a lead may', async () => {
  const { console, decided, enter } = await aQueue()
  const human = { decidedBy: 'human', label: 'non-rumor', decision: { by: 'ben', against: null, of: '0@1' } } as const
  const { id } = await console.judged({ verdict: human })
  const [anna, lea, ben] = [await enter('anna'), await enter('lea', 'lead'), await enter('ben')]
  expect(await anna.to('/decide', { id, label: 'rumor', why: 'x' })).toBe('403')
  expect(await anna.to('/decide', { id, withdraw: 'yes', why: 'x' })).toBe('403')
  expect(decided).toEqual([])
  const page = await anna.page(`/verdict?id=${id}`)
  expect(page).toContain('name="opinion" value="yes"')
  expect(page).toContain('Your label is kept as an opinion')
  expect(await anna.to('/decide', { id, opinion: 'yes', label: 'rumor', why: 'x' })).toContain('done=noted')
  expect(await lea.page(`/verdict?id=${id}`)).not.toContain('name="opinion"')
  expect(await lea.to('/decide', { id, label: 'rumor', why: 'x' })).toContain('done=stands')
  expect(decided.map(({ by, opinion }) => [by, opinion])).toEqual([
    ['anna', true],
    ['lea', undefined],
  ])
  // What was ben's is lea's now.
  expect(await ben.to('/decide', { id: 'rumor~p~r2', label: 'non-rumor', why: 'x' })).toBe('403')
})

it('a dispute goes to a third person, and to a lead who is part of it after a day, which is on record', async () => {
  const { console, enter } = await aQueue()
  const human = { decidedBy: 'human', label: 'non-rumor', decision: { by: 'lea', against: null, of: '0@1' } } as const
  const { id } = await console.judged({ verdict: human })
  const about = { schema: 1, id: 'd', subjectId: 'p', tenant: 'default', kind: 'post', protocol: 'rumor' }
  await console.topics.send('reviews', 'p', { ...about, why: 'disputed', verdict: id, at: at(41) }, 41)
  console.pass(Date.parse(at(60)))
  const [lea, ben] = [await enter('lea', 'lead'), await enter('ben')]
  expect(await lea.page('/review')).toContain('Nothing waits for you')
  expect(await lea.to('/review/next')).toBe('/review?said=none')
  expect(idsIn(await ben.page('/review'))).toEqual([id])
  console.pass(86_400_000)
  const late = await enter('lea', 'lead')
  expect(await late.to('/review/next')).toContain('/review/item')
  expect((await console.page(`/review/item?id=${id}`, late.cookie)).status).toBe(303)
  expect(await late.page(`/review/own-case?id=${id}`)).toContain('You may take it as a lead')
  expect(
    console.audited.some(
      ({ by, page, verdicts }) => by === 'lea' && page === '/review/own-case' && verdicts.includes(id),
    ),
  ).toBe(true)
})

it.each([
  ['their own decision', 'lea', 'ben'],
  ['their own opinion', 'ben', 'lea'],
])('a lead decides on no verdict’s page a dispute about %s', async (_, decider, speaker) => {
  const { console, decided, enter } = await aQueue()
  const decision = { by: decider, against: null, of: '0@1' }
  const story = { id: 'aaa', members: 2, reach: 0, labels: {} }
  const { id } = await console.judged({ verdict: { decidedBy: 'human', label: 'non-rumor', decision, story } })
  const about = { schema: 1, subjectId: 'p', tenant: 'default', kind: 'post', protocol: 'rumor' }
  const opinion = { ...about, label: 'rumor', opinion: true, against: 1, by: speaker, why: 'w', at: at(40) }
  await console.topics.send('decisions', 'p', opinion, 40)
  await console.topics.send('reviews', 'p', { ...about, id: 'd', why: 'disputed', verdict: id, at: at(41) }, 41)
  console.pass(Date.parse(at(60)))
  const [lea, kim] = [await enter('lea', 'lead'), await enter('kim', 'lead')]
  const page = await lea.page(`/verdict?id=${id}`)
  expect(page).toContain('somebody else judges it')
  expect(page.includes('name="withdraw"')).toBe(decider === 'lea')
  expect(page).not.toContain('name="label"')
  expect(await lea.to('/decide', { id, label: 'rumor', why: 'x' })).toBe('403')
  expect(await lea.to('/stories/decide', { id: 'aaa', copy: id, label: 'rumor', why: 'x' })).toBe('409')
  if (decider !== 'lea') expect(await lea.to('/decide', { id, withdraw: 'yes', why: 'x' })).toBe('403')
  expect(decided).toEqual([])
  expect(await kim.page(`/verdict?id=${id}`)).toContain('name="label"')
  expect(await kim.to('/decide', { id, label: 'rumor', why: 'x' })).toContain('done=stands')
})

it('what only chance brought waits for nobody: of twenty that one takes two are purely random, though a hundred doubtful wait', async () => {
  const { console, enter } = await aQueue({ auditShare: 1, shares: { audit: 0.1, secondOpinion: 0.1, golden: 0 } })
  for (let n = 0; n < 15; n++)
    await console.judged({
      verdict: { subjectId: `chance${n}`, decidedBy: 'consensus', confidence: { value: 0.99, how: 'vote' } },
    })
  for (let n = 0; n < 100; n++)
    await console.judged({ verdict: { subjectId: `doubt${n}`, label: null, decidedBy: 'none' } })
  const anna = await enter('anna')
  const taken: string[] = []
  for (let n = 0; n < 20; n++) {
    const item = await anna.to('/review/next')
    const id = new URLSearchParams(item.split('?')[1]).get('id') ?? ''
    taken.push(id)
    await anna.to('/review/release', { id })
    await console.judged({
      verdict: {
        subjectId: id.split('~')[1] ?? '',
        revision: 2,
        decidedBy: 'human',
        label: 'rumor',
        decision: { by: 'x', against: null, of: '0@1' },
      },
    })
  }
  const random = taken.filter((id) => /chance\d+~r1/.test(id))
  expect(random.length).toBeGreaterThanOrEqual(2)
  expect(random.length).toBeLessThanOrEqual(3)
})

it('tenants take turns in what is next, so that the long threads of one keep no other waiting', async () => {
  const { console, enter } = await aQueue()
  const open = { label: null, decidedBy: 'none' } as const
  const leftOut = { cap: 0, late: 0, folded: 0, author: 0, unscored: 0, load: 0 }
  const counts = { accepted: 5_000, judged: 20, leftOut }
  for (let n = 0; n < 6; n++) {
    await console.judged({ verdict: { ...open, subjectId: `long${n}`, tenant: 'loud', counts } })
  }
  for (let n = 0; n < 2; n++) await console.judged({ verdict: { ...open, subjectId: `short${n}`, tenant: 'quiet' } })
  const anna = await enter('anna')
  const taken: string[] = []
  for (let n = 0; n < 4; n++) {
    const id = new URLSearchParams((await anna.to('/review/next')).split('?')[1]).get('id') ?? ''
    taken.push(/loud|quiet/.exec(id)?.[0] ?? id)
    await anna.to('/review/release', { id })
  }
  expect(taken).toEqual(['loud', 'quiet', 'loud', 'quiet'])
})

it('a share is owed exactly, to whoever takes, in whichever process', () => {
  const random = seededRandom(7)
  const turns = new ReviewTurns({ audit: 0.1, secondOpinion: 0.05, golden: 0 }, () => random.below(1_000) / 1_000)
  const took = Array.from({ length: 1_000 }, () => turns.next('anna'))
  expect(Math.abs(took.filter((one) => one === 'sampled').length - 100)).toBeLessThanOrEqual(1)
  expect(Math.abs(took.filter((one) => one === 'second-opinion').length - 50)).toBeLessThanOrEqual(1)
  // Who takes one item alone, each time in a new process, has the same chance.
  const alone = Array.from({ length: 4_000 }, () =>
    new ReviewTurns({ audit: 0.1, secondOpinion: 0, golden: 0 }, () => random.below(1_000) / 1_000).next('b'),
  )
  expect(alone.filter((one) => one === 'sampled').length / 4_000).toBeCloseTo(0.1, 1)
  expect(new ReviewTurns({ audit: 0, secondOpinion: 0, golden: 0 }).next('anna')).toBeNull()
})

it('all of the queue can be reached: pages, filters, words in any script, what others have taken', async () => {
  const { console, enter } = await aQueue()
  for (let n = 0; n < 64; n++)
    await console.judged({
      verdict: { subjectId: `p${n}`, label: null, decidedBy: 'none' },
      post: { text: `claim ${n}` },
    })
  await console.judged({
    verdict: { subjectId: 'ko', decidedBy: 'consensus', degraded: ['x'] },
    post: { text: '도서관이 불타고 있다', lang: 'ko' },
  })
  await console.judged({
    verdict: { subjectId: 'ar', decidedBy: 'consensus', degraded: ['x'] },
    post: { text: 'المكتبة تحترق الآن', lang: 'ar' },
  })
  const [anna, lea] = [await enter('anna'), await enter('lea', 'lead')]
  const seen: (string | undefined)[] = []
  let page = await anna.page('/review')
  for (;;) {
    seen.push(...idsIn(page))
    const next = /rel="next" href="([^"]+)"/.exec(page)?.[1]
    if (next === undefined) break
    page = await anna.page(next.replaceAll('&amp;', '&'))
  }
  expect(new Set(seen).size).toBe(66)
  expect(seen.toSorted()).toHaveLength(66)
  const found = async (query: string) => idsIn(await anna.page(`/review?${query}`))
  expect(await found('reason=degraded&order=oldest')).toEqual(['rumor~ar~r1', 'rumor~ko~r1'])
  expect(await found('reason=degraded&lang=ko')).toEqual(['rumor~ko~r1'])
  expect(await found('lang=ar')).toEqual(['rumor~ar~r1'])
  expect(await found(`q=${encodeURIComponent('불타고')}`)).toEqual(['rumor~ko~r1'])
  expect(await found(`q=${encodeURIComponent('تحترق')}`)).toEqual(['rumor~ar~r1'])
  for (const id of ['ko', 'rumor~ko~r1']) {
    expect(await found(`q=${id}`)).toEqual(['rumor~ko~r1'])
    expect(await found(`q=${id}&lang=ar`)).toEqual([])
  }
  expect(await found('label=rumor')).toEqual(['rumor~ar~r1', 'rumor~ko~r1'])
  expect(await found('protocol=hate')).toEqual([])
  expect(await found('tenant=acme')).toEqual([])
  expect(await found("reason=%27--&page=-3&age=x&order=%00&show=y&lang='")).toEqual([])
  // What one works through stays so from item to item.
  const only = 'reason=degraded&lang=ko'
  expect(await anna.to('/review/next', { only })).toContain('rumor%7Eko%7Er1')
  expect(await lea.page('/review?show=all')).toContain('anna')
  expect(await anna.page('/review?show=own')).toContain('rumor~ko~r1')
  expect(idsIn(await lea.page('/review?reason=degraded&lang=ko'))).toEqual([])
  expect(await lea.page('/review?show=all')).toContain('/review/release')
  expect(await lea.page('/review?show=all')).toMatch(/Somebody else has it: [^<]*(<[^>]*>)*[^<]+(<\/bdi>)?, until /)
  expect(await lea.to('/review/release', { id: 'rumor~ko~r1' })).toContain('said=back')
  expect(idsIn(await lea.page('/review?reason=degraded&lang=ko'))).toEqual(['rumor~ko~r1'])
})

it('a blind item is found by no label, and shows none', async () => {
  const { console, enter } = await aQueue()
  const human = { decidedBy: 'human', label: 'rumor', decision: { by: 'ben', against: null, of: '0@1' } } as const
  const { id } = await console.judged({ verdict: human })
  const anna = await enter('anna')
  expect(idsIn(await anna.page('/review'))).toEqual([id])
  expect(idsIn(await anna.page('/review?label=rumor'))).toEqual([])
  expect(idsIn(await anna.page('/review?label=non-rumor'))).toEqual([])
})

it('the post comes before what the machines said; one key confirms, one undoes', async () => {
  const { console, decided, enter } = await aQueue()
  await console.judged({
    verdict: { rationale: 'because of this', decidedBy: 'consensus', degraded: ['x'] },
    post: { text: 'zanzibar burns' },
  })
  const anna = await enter('anna')
  const page = await anna.page(await anna.to('/review/next'))
  expect(page.indexOf('zanzibar')).toBeGreaterThan(0)
  expect(page.indexOf('zanzibar')).toBeLessThan(page.indexOf('The machines’ label'))
  const form = /action="\/review\/decide">((?:(?!<form).)*data-press="c")/s.exec(page)?.[1] ?? ''
  const hidden = [...form.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)]
  const fields = {
    ...Object.fromEntries(hidden.map(([, name, value]) => [name ?? '', value ?? ''])),
    confirm: /name="confirm" value="([^"]*)"/.exec(form)?.[1] ?? '',
  }
  expect(await anna.to('/review/decide', fields)).toBe('/review?said=last')
  expect(decided).toMatchObject([{ by: 'anna', label: 'rumor', against: 1, why: 'The label fits.', code: 'fits' }])
  expect(page).toContain('data-press="u"')
  expect(await anna.page('/review/mine')).toContain('rumor%7Ep%7Er2')
  expect(await anna.to('/review/undo')).toBe('/verdict?id=rumor%7Ep%7Er3&done=withdrawn&ago=0')
  expect(decided.at(-1)).toMatchObject({ by: 'anna', withdraw: true, against: 2 })
  expect(await anna.to('/review/undo')).toBe('/review?said=nothing')
})

it('who decided on posts of the tenant of late is offered where a post is assigned', async () => {
  const { console, enter } = await aQueue({
    casework: { tell: async (entry) => console.topics.send('casework', entry.subjectId, entry, 150) },
  })
  await console.judged({ verdict: { decidedBy: 'consensus', degraded: ['x'] } })
  const said = { tenant: 'default', protocol: 'rumor', against: 1, why: 'w', label: 'rumor' }
  await console.topics.send('decisions', 'q', { ...said, subjectId: 'q', by: 'dora', at: at(30) }, 30)
  const other = { ...said, tenant: 'acme', subjectId: 'q', by: 'emil', at: at(30) }
  await console.topics.send('decisions', 'acme q', other, 30)
  const anna = await enter('anna')
  const page = await anna.page(await anna.to('/review/next'))
  const offered = [...page.matchAll(/<option value="([^"]+)">/g)].map(([, name]) => name)
  expect(offered).toEqual(['anna', 'dora'])
})

it('undoing goes on from the last decision to the one before, with all of its copies', async () => {
  const { console, decided, enter } = await aQueue()
  const doubtful: Partial<Verdict> = { decidedBy: 'consensus', degraded: ['x'] }
  for (const subjectId of ['a', 'b'])
    await console.judged({ verdict: { ...doubtful, subjectId }, post: { text: 'the same words' } })
  await console.judged({ verdict: { ...doubtful, subjectId: 'c' }, post: { text: 'other words' } })
  const anna = await enter('anna')
  const decide = async (id: string, more: Record<string, string> = {}) => {
    await anna.to('/review/take', { id })
    await anna.to('/review/decide', { id, label: 'rumor', code: 'fits', ...more })
  }
  await decide('rumor~a~r1', { copy: 'rumor~b~r1' })
  await decide('rumor~c~r1')
  expect(decided).toHaveLength(3)
  // Whoever comes to one of them alone is told of the others.
  expect(await anna.page('/verdict?id=rumor~a~r2')).toMatch(
    /a copy together with it.*href="\/verdict\?id=rumor%7Eb%7Er2"/s,
  )
  expect(await anna.page('/verdict?id=rumor~c~r2')).not.toContain('together with it')
  expect(await anna.to('/review/undo')).toContain('done=withdrawn')
  expect(await anna.to('/review/undo')).toBe(
    '/review?said=batch&withdrawn=2&late=0&open=0&ago=0&posts=rumor%7Ea%7Er2+rumor%7Eb%7Er2',
  )
  expect(await anna.page('/review?said=batch&withdrawn=2&posts=rumor%7Ea%7Er2+rumor%7Eb%7Er2')).toContain(
    'a (rumor), b (rumor). 2 decisions were withdrawn.',
  )
  // Which they were is in the audit, of copies as well.
  const entries = (page: string) =>
    console.audited.flatMap((one) => (one.what === 'did' && one.page === page ? [one.verdicts] : []))
  expect(entries('/review/decide')).toEqual([['rumor~a~r1', 'rumor~b~r1'], ['rumor~c~r1']])
  expect(entries('/review/undo')).toEqual([[], ['rumor~c~r2'], [], ['rumor~a~r2', 'rumor~b~r2']])
  const withdrawn = decided.filter(({ withdraw }) => withdraw === true).map(({ subjectId }) => subjectId)
  expect(withdrawn).toEqual(['c', 'a', 'b'])
})

it('what was decided last is undone, wherever that was, and no other', async () => {
  const { console, decided, enter } = await aQueue()
  const doubtful: Partial<Verdict> = { decidedBy: 'consensus', degraded: ['x'] }
  for (const subjectId of ['a', 'b', 'c']) await console.judged({ verdict: { ...doubtful, subjectId } })
  console.pass(Date.parse(at(80)))
  const anna = await enter('anna')
  const review = async (id: string) => {
    await anna.to('/review/take', { id })
    await anna.to('/review/decide', { id, label: 'rumor', code: 'fits' })
  }
  await review('rumor~a~r1')
  await anna.to('/decide', { id: 'rumor~b~r1', label: 'rumor', why: 'ticket 9' })
  expect(await anna.to('/review/undo')).toContain('done=withdrawn')
  console.pass(20_000)
  await review('rumor~c~r1')
  expect(await anna.to('/review/undo')).toContain('done=withdrawn')
  expect(await anna.to('/review/undo')).toContain('done=withdrawn')
  const withdrawn = decided.filter(({ withdraw }) => withdraw === true).map(({ subjectId }) => subjectId)
  expect(withdrawn).toEqual(['b', 'c', 'a'])
})

it('what somebody could not see is said to be noted, and comes to them no more', async () => {
  const { console, enter } = await aQueue()
  for (const subjectId of ['a', 'b'])
    await console.judged({ verdict: { decidedBy: 'consensus', degraded: ['x'], subjectId } })
  const [anna, ben] = [await enter('anna'), await enter('ben')]
  const idOf = (address: string) => new URL(address, 'http://gavel').searchParams.get('id') ?? ''
  const first = idOf(await anna.to('/review/next'))
  expect(await anna.page('/review')).toContain('You have taken one item and not decided it')
  expect(await ben.page('/review')).not.toContain('You have taken')
  const next = await anna.to('/review/unseen', { id: first })
  expect(await anna.page(next)).toMatch(
    /Noted that you could not see or read it, and nothing decided\. .*[ab] \(rumor\)\./,
  )
  await anna.to('/review/decide', { id: idOf(next), label: 'rumor', code: 'fits' })
  expect(await anna.to('/review/next')).toBe('/review?said=none')
  expect(idOf(await ben.to('/review/next'))).toBe(first)
})

it('the thread stands beside a post, whichever protocol has it', async () => {
  const { console, enter } = await aQueue()
  const doubtful: Partial<Verdict> = { decidedBy: 'consensus', degraded: ['x'] }
  await console.judged({ verdict: { ...doubtful, protocol: 'safety', label: 'safe' } })
  const comments = [{ id: 'c1', text: 'marzipan it is' }]
  await console.judged({ verdict: { ...doubtful, degraded: [] }, comments })
  const anna = await enter('anna')
  expect(await anna.page(await anna.to('/review/take', { id: 'safety~p~r1' }))).toContain('marzipan')
})

it('what is undone is said with its age, and asked for once more after ten minutes', async () => {
  const { console, decided, enter } = await aQueue()
  for (const subjectId of ['a', 'b'])
    await console.judged({ verdict: { decidedBy: 'consensus', degraded: ['x'], subjectId } })
  console.pass(Date.parse(at(80)))
  const anna = await enter('anna')
  const review = async (id: string) => {
    await anna.to('/review/take', { id })
    await anna.to('/review/decide', { id, label: 'rumor', code: 'fits' })
  }
  await review('rumor~a~r1')
  console.pass(3 * 60_000)
  const undone = await anna.to('/review/undo')
  expect(undone).toBe('/verdict?id=rumor%7Ea%7Er3&done=withdrawn&ago=3')
  expect(await anna.page(undone)).toContain('You had decided it 3 minutes ago.')
  await review('rumor~b~r1')
  console.pass(11 * 60_000)
  const asked = await console.post(
    '/review/undo',
    { token: tokenIn(await anna.page('/health')) },
    { cookie: anna.cookie },
  )
  const page = await asked.text()
  expect([
    asked.status,
    page.includes('Your last decision is 11 minutes old'),
    page.includes('rumor%7Eb%7Er2'),
  ]).toEqual([409, true, true])
  expect(decided.filter(({ withdraw }) => withdraw === true)).toHaveLength(1)
  const sure = /name="sure" value="(\d+)"/.exec(page)?.[1] ?? ''
  // Of another one nobody has been sure.
  expect(await anna.to('/review/undo', { sure: '7' })).toBe('409')
  expect(await anna.to('/review/undo', { sure })).toContain('done=withdrawn&ago=11')
})

it('nothing before an opinion is undone, nor before what is not known yet, and nothing of a tenant that is theirs no more', async () => {
  const { console, decided, enter } = await aQueue()
  console.pass(Date.parse(at(80)))
  const anna = await enter('anna')
  for (const subjectId of ['a', 'b'])
    await console.judged({ verdict: { decidedBy: 'consensus', degraded: ['x'], subjectId } })
  await anna.to('/review/take', { id: 'rumor~a~r1' })
  await anna.to('/review/decide', { id: 'rumor~a~r1', label: 'rumor', code: 'fits' })
  const elsewhere = console.sessions.open({ by: 'anna', grants: [{ role: 'moderator', tenants: ['acme'] }] })
  const cookie = `gavel-console-8421=${elsewhere}`
  const token = tokenIn((await console.page('/health', cookie)).text)
  expect((await console.post('/review/undo', { token }, { cookie })).headers.get('location')).toContain('said=nothing')
  const said = { subjectId: 'b', protocol: 'rumor', label: 'rumor', why: 'w', by: 'anna', at: at(81) }
  await console.topics.send('decisions', 'b', { ...said, against: 1 }, 81)
  expect(await anna.to('/review/undo')).toBe('/review?said=notYet')
  // Its verdict is not in the record.
  await console.topics.send('decisions', 'b', { ...said, against: 9, opinion: true }, 82)
  const answered = await anna.to('/review/undo')
  expect(await anna.page(answered)).toMatch(/Nothing was undone\. .*b \(rumor\)\./)
  expect(decided).toHaveLength(1)
})

it('an opinion that was given last can’t be undone, says so, and nothing from before it is', async () => {
  const { console, decided, enter } = await aQueue({ shares: { audit: 0, secondOpinion: 1, golden: 0 } })
  const decision = { by: 'ben', against: null, of: '0@1' }
  await console.judged({ verdict: { subjectId: 'a', decidedBy: 'consensus', degraded: ['x'] } })
  await console.judged({ verdict: { subjectId: 'q', decidedBy: 'human', label: 'rumor', decision } })
  let anna = await enter('anna')
  await anna.to('/review/take', { id: 'rumor~a~r1' })
  await anna.to('/review/decide', { id: 'rumor~a~r1', label: 'rumor', code: 'fits' })
  await anna.to('/review/take', { id: 'rumor~q~r1' })
  await anna.to('/review/decide', { id: 'rumor~q~r1', label: 'rumor', code: 'fits', opinion: 'yes' })
  for (let twice = 0; twice < 2; twice++) {
    const answered = await anna.to('/review/undo')
    expect(answered).toContain('said=opinionStands')
    expect(await anna.page(answered)).toMatch(/Nothing was undone\. .*q \(rumor\)\./)
  }
  // Nor by who signs in anew.
  anna = await enter('anna')
  expect(await anna.to('/review/undo')).toContain('said=opinionStands')
  expect(decided.map(({ subjectId, withdraw }) => [subjectId, withdraw])).toEqual([
    ['a', undefined],
    ['q', undefined],
  ])
})

it('a batch of which nothing was heard is not said to be withdrawn, nor replaced', async () => {
  const { console, enter } = await aQueue({}, ({ withdraw }) => withdraw !== true)
  const doubtful: Partial<Verdict> = { decidedBy: 'consensus', degraded: ['x'] }
  for (const subjectId of ['a', 'b'])
    await console.judged({ verdict: { ...doubtful, subjectId }, post: { text: 'the same words' } })
  const anna = await enter('anna')
  await anna.to('/review/take', { id: 'rumor~a~r1' })
  await anna.to('/review/decide', { id: 'rumor~a~r1', label: 'rumor', code: 'fits', copy: 'rumor~b~r1' })
  const answered = await anna.to('/review/undo')
  expect(answered).toContain('/review?said=batch&withdrawn=0&late=0&open=2')
  expect(await anna.page(answered)).toContain('2 were sent, and it is not known yet whether they are withdrawn.')
})

it('what somebody else has replaced is not undone', async () => {
  const { console, decided, enter } = await aQueue()
  await console.judged({ verdict: { decidedBy: 'consensus', degraded: ['x'] } })
  const anna = await enter('anna')
  await anna.to('/review/next')
  await anna.to('/review/decide', { id: 'rumor~p~r1', label: 'non-rumor', why: 'x' })
  await console.judged({
    verdict: { revision: 3, decidedBy: 'human', label: 'rumor', decision: { by: 'lea', against: null, of: '0@9' } },
  })
  expect(await anna.to('/review/undo')).toBe('/review?said=late&posts=rumor%7Ep%7Er2')
  expect(await anna.to('/review/undo')).toBe('/review?said=nothing')
  expect(decided).toHaveLength(2)
})

it('only a lead makes golden items, of what a person decided; their answers are told from opinions on no page', async () => {
  const { console, decided, enter } = await aQueue({ shares: { audit: 0, secondOpinion: 0, golden: 1 } })
  const decision = { by: 'ben', against: null, of: '0@1' }
  const { id } = await console.judged({ verdict: { decidedBy: 'human', label: 'non-rumor', decision } })
  await console.judged({ verdict: { subjectId: 'machines', decidedBy: 'consensus' } })
  // Somebody has given the second opinion that was drawn.
  const opinion = { subjectId: 'p', protocol: 'rumor', against: 1, label: 'non-rumor', why: 'w', opinion: true }
  await console.topics.send('decisions', 'p', { ...opinion, by: 'dan', at: at(20) }, 20)
  const [anna, lea, eve] = [await enter('anna'), await enter('lea', 'lead'), await enter('eve')]
  expect(await eve.page(`/verdict?id=${id}`)).not.toContain('golden')
  expect(await anna.to('/golden', { id })).toBe('403')
  expect(await lea.to('/golden', { id: 'rumor~machines~r1' })).toBe('409')
  expect(await lea.to('/golden', { id: 'rumor~nothing~r1' })).toBe('409')
  expect(decided).toEqual([])
  expect(await lea.to('/golden', { id })).toBe(`/verdict?id=rumor%7Ep%7Er1&done=golden`)
  expect(decided).toMatchObject([{ by: 'lea', label: 'non-rumor', against: 1, opinion: true, golden: 'key' }])
  expect(await lea.page(`/verdict?id=${id}`)).toContain('You hold this label to be right')
  expect(await lea.to('/review/next')).toBe('/review?said=none')
  // Who has seen its key is not asked.
  expect(await eve.to('/review/next')).toBe('/review?said=none')
  const item = await anna.to('/review/next')
  expect(item).toContain('rumor%7Ep%7Er1')
  const page = await anna.page(item)
  expect(page).not.toMatch(/golden|non-rumor<\/strong>/)
  const since = /name="since" value="(\d+)"/.exec(page)?.[1] ?? ''
  console.pass(31_400)
  await anna.to('/review/decide', { id, opinion: 'yes', label: 'rumor', code: 'irony', why: 'so it seems', since })
  expect(decided.at(-1)).toMatchObject({ by: 'anna', label: 'rumor', opinion: true, golden: 'answer', seconds: 31 })
  expect(await anna.to('/review/next')).toBe('/review?said=none')
  for (const page of [`/verdict?id=${id}`, `/verdict/file?id=${id}`, '/review/mine']) {
    const seen = await anna.page(page)
    expect([page, seen.includes('golden'), seen.includes('by lea')]).toEqual([page, false, false])
  }
  expect(await lea.page(`/verdict?id=${id}`)).not.toContain('so it seems')
})
