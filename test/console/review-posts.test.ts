import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readReasonCodes } from '../../src/app/composition/reason-codes.ts'
import { reasonOf } from '../../src/console/reason-codes.ts'
import { listedQueue } from '../../src/console/review-list.ts'
import type { CaseworkEntry } from '../../src/contracts/facts/casework.ts'
import type { DecisionMessage } from '../../src/contracts/facts/decision-messages.ts'
import type { PersonRole } from '../../src/contracts/facts/person-roles.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import { ownFolder } from '../support/own-folder.ts'
import { aConsole, tokenIn } from './console-for-tests.ts'

/** A console in which what people decide is current at once, and the person who works in it. */
async function atWork(more: Parameters<typeof aConsole>[0] = {}) {
  const decided: DecisionMessage[] = []
  const console = await aConsole({
    ...more,
    async decide(decision) {
      decided.push(decision)
      const { subjectId, protocol, against, by, label = null, withdraw = false } = decision
      const subject = await console.record.subject({ tenant: 'default', id: subjectId })
      const revisions = (subject?.verdicts ?? []).flatMap(({ verdict }) =>
        verdict.protocol === protocol ? [verdict.revision] : [],
      )
      const last = Math.max(0, ...revisions)
      if (last !== against) return { of: '0@0', decided: { outcome: 'late', last } }
      const human = { decidedBy: 'human', label, decision: { by, against: null, of: '0@0' } } as const
      const { id } = await console.judged({
        verdict: { subjectId, protocol, revision: against + 1, ...(withdraw ? {} : human) },
      })
      return { of: '0@0', decided: { outcome: withdraw ? 'withdrawn' : 'stands', verdict: id } }
    },
  })
  const cookie = await console.signedIn('anna')
  const token = tokenIn((await console.page('/health', cookie)).text)
  const to = async (path: string, fields: Record<string, string> = {}) => {
    const answer = await console.post(path, { token, ...fields }, { cookie })
    return answer.headers.get('location') ?? `${answer.status} ${await answer.text()}`
  }
  return { console, decided, to, page: async (path: string) => (await console.page(path, cookie)).text }
}

const rowsIn = (page: string) => page.split('<li class="row"').length - 1
const idIn = (address: string) => new URLSearchParams(address.split('?')[1]).get('id') ?? ''
const DOUBTFUL: Partial<Verdict> = { decidedBy: 'consensus', degraded: ['1 of 3 images not seen'] }

it('a post is one card with all its protocols, why each is here in words, and each its own decision', async () => {
  const { console, decided, to, page } = await atWork()
  await console.judged({ verdict: DOUBTFUL, post: { text: 'zanzibar burns' } })
  await console.judged({
    verdict: { protocol: 'hate', label: null, decidedBy: 'none' },
    post: { text: 'zanzibar burns' },
  })
  await console.judged({ verdict: { protocol: 'safety', label: 'safe' }, post: { text: 'zanzibar burns' } })
  const list = await page('/review')
  expect(rowsIn(list)).toBe(1)
  expect(list.split('zanzibar burns')).toHaveLength(2)
  expect(list).toContain('1 post waits.')
  expect(list).toContain('It was judged without all that its protocol needs: 1 of 3 images not seen')
  expect(list).toContain('The machines gave no label.')
  const item = await to('/review/next')
  const body = await page(item)
  expect(body.split('action="/review/decide"')).toHaveLength(3)
  expect(body.split('zanzibar burns')).toHaveLength(2)
  expect(body).toContain('Also judged:')
  // What is not decided yet of the same post comes before any other.
  const first = idIn(item)
  const other = await to('/review/decide', {
    id: first,
    label: first.startsWith('hate') ? 'hate' : 'rumor',
    code: 'fits',
  })
  expect(other).toMatch(/^\/review\/item\?id=.*said=done/)
  expect(idIn(other)).not.toBe(first)
  expect((await page(other)).split('action="/review/decide"')).toHaveLength(2)
  expect(await to('/review/release', { id: idIn(other) })).toContain('said=back')
  expect(decided).toHaveLength(1)
})

it('whoever gives a post back gives all of it back', async () => {
  const { console, to, page } = await atWork()
  await console.judged({ verdict: DOUBTFUL })
  await console.judged({ verdict: { protocol: 'hate', label: null, decidedBy: 'none' } })
  const item = await to('/review/next')
  expect(rowsIn(await page('/review?show=own'))).toBe(1)
  await to('/review/release', { id: idIn(item) })
  expect(rowsIn(await page('/review?show=own'))).toBe(0)
})

it('a reason is a code; who overrules, and whose reason asks for it, says more', async () => {
  const { console, decided, to } = await atWork()
  for (const subjectId of ['a', 'b', 'c', 'd']) await console.judged({ verdict: { ...DOUBTFUL, subjectId } })
  const sent = (id: string, fields: Record<string, string>) => to('/review/decide', { id: `rumor~${id}~r1`, ...fields })
  for (const fields of [
    { label: 'non-rumor', code: 'irony' },
    { label: 'rumor', code: 'other' },
    { label: 'rumor', code: 'unheard' },
    { label: 'rumor' },
    { label: 'rumor', code: 'unheard', why: 'x' },
    { label: 'rumor', code: 'fits', why: 'x'.repeat(2_000) },
    { confirm: 'hate' },
  ])
    expect([fields, (await sent('a', fields)).slice(0, 3)]).toEqual([fields, '409'])
  expect(decided).toEqual([])
  // What lacks is said in the part that it is of.
  const lacks = async (fields: Record<string, string>) =>
    /data-refused="yes">.*?role="alert"><bdi[^>]*>([^<]*)/s.exec(await sent('a', fields))?.[1]
  expect(await lacks({ label: 'rumor', code: 'other' })).toContain(
    'the reason “Something else.” needs your own words (w)',
  )
  expect(await lacks({ label: 'non-rumor', code: 'irony' })).toContain('you overrule the label. Say why')
  expect(await lacks({ label: 'rumor' })).toContain('choose a reason')
  await sent('a', { label: 'non-rumor', code: 'irony', why: 'see its tag' })
  await sent('b', { label: 'rumor', code: 'context' })
  await sent('c', { confirm: 'rumor', label: 'non-rumor', code: 'irony' })
  await sent('d', { label: 'rumor', why: 'from a page of before' })
  expect(decided.map(({ label, code, why, sawLabel }) => [label, code, why, sawLabel])).toEqual([
    ['non-rumor', 'irony', 'It is irony, satire or a joke. see its tag', true],
    ['rumor', 'context', 'Its context changes what it means.', true],
    ['rumor', 'fits', 'The label fits.', true],
    ['rumor', undefined, 'from a page of before', true],
  ])
})

it('on a set share the label is shown after the person’s own, on no page before, and the decision says so', async () => {
  const { console, decided, to, page } = await atWork({ labelAfter: 1 })
  await console.judged({
    verdict: { ...DOUBTFUL, rationale: 'marzipan', label: 'rumor' },
    post: { text: 'zanzibar' },
    comments: [{ id: 'c', text: 'a comment' }],
  })
  expect(await page('/review')).not.toContain('<strong>')
  const item = await page(await to('/review/next'))
  expect(item).toContain('before you see the machines’ label')
  expect(item).not.toContain('marzipan')
  expect(item).not.toContain('data-press="c"')
  expect(item).not.toContain('(current)')
  const done = await to('/review/decide', { id: 'rumor~p~r1', label: 'non-rumor', code: 'irony', unseen: 'yes' })
  expect(await page(done)).toContain('The machines had said: rumor.')
  expect(decided).toMatchObject([{ label: 'non-rumor', sawLabel: false, code: 'irony' }])
})

it('what else waits of a post comes before the next post, though the record knows of the decision at once', async () => {
  const { console, to, page } = await atWork()
  for (const protocol of ['rumor', 'hate'])
    await console.judged({ verdict: { ...DOUBTFUL, protocol, label: protocol === 'hate' ? 'non-hate' : 'rumor' } })
  await console.judged({ verdict: { subjectId: 'costly', label: null, decidedBy: 'none' } })
  // Of rumor alone the next one would be of another post.
  const only = 'protocol=rumor'
  await to('/review/take', { id: 'rumor~p~r1' })
  const after = await to('/review/decide', { id: 'rumor~p~r1', label: 'rumor', code: 'fits', only })
  expect(after).toContain('/review/item?id=hate%7Ep%7Er1')
  const told = await page(after)
  expect(told).toContain('You chose rumor for p (rumor); u undoes a decision.')
  expect(told).toContain('What follows is another part of the same post.')
})

it('who was shown a label before they gave their own is said to have seen it, on whichever page', async () => {
  const { console, decided, to, page } = await atWork({ labelAfter: 1 })
  const judged = (subjectId: string) => console.judged({ verdict: { ...DOUBTFUL, subjectId, label: 'rumor' } })
  await judged('a')
  const saw = async (id: string) => {
    await to('/review/take', { id })
    await to('/review/decide', { id, label: 'non-rumor', code: 'irony', unseen: 'yes' })
    return decided.at(-1)?.sawLabel
  }
  await page('/review')
  await to('/review/take', { id: 'rumor~a~r1' })
  expect(await page('/review/item?id=rumor~a~r1')).toContain('You are asked before you see')
  expect(await saw('rumor~a~r1')).toBe(false)
  for (const path of ['/live', '/search', '/verdict?id=rumor~V~r1', '/thread?id=rumor~V~r1']) {
    const subjectId = path.slice(1, 5)
    await judged(subjectId)
    await page(path.replace('~V~', `~${subjectId}~`))
    await to('/review/take', { id: `rumor~${subjectId}~r1` })
    expect(await page(`/review/item?id=rumor~${subjectId}~r1`)).not.toContain('You are asked before you see')
    expect([path, await saw(`rumor~${subjectId}~r1`)]).toEqual([path, true])
  }
})

it('a second opinion is given by who has not looked up what was decided', async () => {
  const { console, to, page } = await atWork({ shares: { audit: 0, secondOpinion: 1, golden: 0 } })
  const decision = { by: 'ben', against: null, of: '0@1' }
  for (const subjectId of ['a', 'b']) await console.judged({ verdict: { subjectId, decidedBy: 'human', decision } })
  await page('/verdict?id=rumor~a~r1')
  expect(await to('/review/next')).toContain('id=rumor%7Eb%7Er1')
})

it('the share of labels that are shown afterwards is what was set, and the same at each look', async () => {
  const { isLabelAfter } = await import('../../src/console/review-item.ts')
  const { SeenLabels } = await import('../../src/console/seen-by.ts')
  const seenLabels = new SeenLabels()
  const item = (n: number) => ({ verdict: `rumor~p${n}~r1`, label: 'rumor', reasons: ['degraded'] }) as never
  const all = Array.from({ length: 2_000 }, (_, n) => isLabelAfter(item(n), 'anna', { labelAfter: 0.1, seenLabels }))
  expect(all.filter(Boolean).length).toBeGreaterThan(150)
  expect(all.filter(Boolean).length).toBeLessThan(250)
  expect(all).toEqual(
    Array.from({ length: 2_000 }, (_, n) => isLabelAfter(item(n), 'anna', { labelAfter: 0.1, seenLabels })),
  )
})

it('a file of reasons is read whole or refused with what is wrong', () => {
  const path = join(ownFolder('reasons'), 'reasons.yaml')
  const reading = (text: string) => {
    writeFileSync(path, text)
    try {
      return readReasonCodes(path).map(({ code }) => code)
    } catch (error) {
      return String(error)
    }
  }
  expect(reading('[{ code: ok, says: Right, confirms: true }, { code: no, says: Wrong }]')).toEqual(['ok', 'no'])
  expect(reading('[{ code: no, says: Wrong }]')).toContain('confirms: true')
  expect(reading('[{ code: a, says: x, confirms: true }, { code: a, says: y }]')).toContain('a code stands there twice')
  expect(reading('[{ code: A b, says: x, confirms: true }]')).toContain('small letters')
  expect(reading('[')).toContain('is not YAML')
  expect(reading('')).toContain('review.reasons')
  expect(() => readReasonCodes('/nowhere.yaml')).toThrow('can’t be read'.replace('’', "'"))
  const codes = readReasonCodes(null)
  expect(reasonOf({ code: '__proto__', own: 'x', overrules: false }, codes)).toBeNull()
})

it('copies in the same words are decided with one, each against its own revision; what is in the way of one leaves the others', async () => {
  const { console, decided, to, page } = await atWork()
  const text = 'The bridge has fallen.'
  for (const subjectId of ['a', 'b', 'c', 'd', 'e'])
    await console.judged({
      verdict: {
        ...DOUBTFUL,
        subjectId,
        revision: subjectId === 'c' ? 4 : 1,
        label: subjectId === 'd' ? 'non-rumor' : 'rumor',
      },
      post: { text },
    })
  await console.judged({ verdict: { ...DOUBTFUL, subjectId: 'other' }, post: { text: 'The bridge has not fallen.' } })
  await to('/review/take', { id: 'rumor~a~r1' })
  const body = await page('/review/item?id=rumor~a~r1')
  const ticked = [...body.matchAll(/name="copy" value="([^"]+)" checked/g)].map(([, id]) =>
    decodeURIComponent(id ?? ''),
  )
  expect(ticked.toSorted()).toEqual(['rumor~b~r1', 'rumor~c~r4', 'rumor~d~r1', 'rumor~e~r1'])
  expect(body).toContain('Its label is another: non-rumor')
  expect(body.split('Its label is another')).toHaveLength(2)
  // Meanwhile somebody else takes one, and one is judged anew.
  await console.record.review.reserve('rumor~b~r1', { for: 'ben' }, 9e12, 0)
  const send = (copies: readonly string[], fields: Record<string, string>) => {
    const all = new URLSearchParams(fields)
    for (const one of copies) all.append('copy', one)
    return all
  }
  const cookie = await console.signedIn('anna')
  const token = tokenIn((await console.page('/health', cookie)).text)
  const sent = await console.ask('/review/decide', {
    method: 'POST',
    body: send(ticked, { token, id: 'rumor~a~r1', confirm: 'rumor' }),
    headers: { 'sec-fetch-site': 'same-origin', cookie },
  })
  const told = await sent.text()
  expect(sent.status).toBe(409)
  expect(told).toContain('Not all copies were decided')
  expect(told).toContain('id=rumor%7Eb%7Er1')
  expect(told).toContain('Its label is another: non-rumor. Choose a label and a reason.')
  expect(decided.map(({ subjectId, against, label, code }) => [subjectId, against, label, code]).toSorted()).toEqual([
    ['a', 1, 'rumor', 'fits'],
    ['c', 4, 'rumor', 'fits'],
    ['e', 1, 'rumor', 'fits'],
  ])
  // One key takes back all that the decision did, but for what somebody else has replaced meanwhile.
  const lea = { decidedBy: 'human', label: 'non-rumor', decision: { by: 'lea', against: null, of: '0@9' } } as const
  await console.judged({ verdict: { ...lea, subjectId: 'e', revision: 3 }, post: { text } })
  expect(await to('/review/undo')).toContain('/review?said=batch&withdrawn=2&late=1&open=0')
  const withdrawn = decided.filter(({ withdraw }) => withdraw === true)
  expect(withdrawn.map(({ subjectId, against }) => [subjectId, against])).toEqual([
    ['a', 2],
    ['c', 5],
    ['e', 2],
  ])
  expect(await page('/review?said=batch&withdrawn=2&late=1&open=1')).toMatch(
    /2 decisions were withdrawn\. One is as it was.*1 was sent, and it is not known yet/,
  )
  expect(await to('/review/undo')).toBe('/review?said=nothing')
})

it('a reason to keep the label overrules no copy of another, whatever the person adds', async () => {
  const { console, decided, to, page } = await atWork()
  const post = { text: 'The bridge has fallen.' }
  await console.judged({ verdict: { ...DOUBTFUL, subjectId: 'a', label: 'rumor' }, post })
  await console.judged({ verdict: { ...DOUBTFUL, subjectId: 'd', label: 'non-rumor' }, post })
  await to('/review/take', { id: 'rumor~a~r1' })
  await page('/review/item?id=rumor~a~r1')
  const words = { label: 'rumor', code: 'fits', why: 'It says so.' }
  const told = await to('/review/decide', { id: 'rumor~a~r1', ...words, copy: 'rumor~d~r1' })
  expect(told).toMatch(/^409 .*Its label is another: non-rumor\. .* is a reason to keep the label/s)
  expect(decided.map(({ subjectId, code }) => [subjectId, code])).toEqual([['a', 'fits']])
})

it('pictures of what waits and of its copies are shown small, each under a cover, as the person chose', async () => {
  const { console, to, page } = await atWork()
  const media = [1, 2, 3, 4].map((n) => ({ kind: 'image' as const, url: `https://images.example/${n}` }))
  for (const subjectId of ['a', 'b'])
    await console.judged({ verdict: { ...DOUBTFUL, subjectId }, post: { text: 'Look at this bridge.', media } })
  const thumbs = (body: string, id: string) =>
    [...body.matchAll(/<img loading="lazy" src="([^"]*part=cover)" alt="">/g)]
      .map(([, src]) => src?.replaceAll('&amp;', '&') ?? '')
      .filter((src) => src.includes(id))
  const of = (id: string) => [0, 1, 2].map((n) => `/picture?id=${id}&n=${n}&soon=yes&part=cover`)
  for (const path of ['/review', '/live', '/search']) {
    const body = await page(path)
    expect(thumbs(body, 'rumor%7Ea%7Er1'), path).toEqual(of('rumor%7Ea%7Er1'))
    expect(body, path).toContain('Image 3 of 4')
    expect(body, path).not.toContain('Image 4 of 4')
  }
  await to('/review/take', { id: 'rumor~a~r1' })
  expect(thumbs(await page('/review/item?id=rumor~a~r1'), 'rumor%7Eb%7Er1')).toEqual(of('rumor%7Eb%7Er1'))
  await console.record.pictures.chooseCovers('anna', { covered: 'harmful', cover: 'blank', hover: true })
  const blank = await page('/live')
  expect(thumbs(blank, 'rumor%7Ea%7Er1')).toEqual([])
  expect(blank).toContain('data-hover="yes"')
  await console.record.pictures.chooseCovers('anna', { covered: 'none', cover: 'blur', hover: false })
  expect(await page('/live')).toContain('<div><img class="seen" loading="lazy" src="/picture?id=rumor')
})

it('a post is assigned by who has it or a lead, and handed over to a person or to nobody, though its lead has left', async () => {
  const told: CaseworkEntry[] = []
  let isAway = false
  const { console } = await atWork({
    casework: {
      async tell(entry) {
        if (isAway) throw new Error('no broker')
        told.push(entry)
        await console.topics.send('casework', entry.subjectId, entry, 150)
      },
    },
  })
  await console.judged({ verdict: DOUBTFUL })
  const enter = async (by: string, role: PersonRole = 'moderator') => {
    const cookie = `gavel-console-8421=${console.sessions.open({ by, grants: [{ role }] })}`
    const token = tokenIn((await console.page('/health', cookie)).text)
    const id = 'rumor~p~r1'
    return {
      page: async (path: string) => (await console.page(path, cookie)).text,
      to: async (path: string, fields: Record<string, string> = {}) =>
        (await console.post(path, { token, id, ...fields }, { cookie })).headers.get('location'),
    }
  }
  const [anna, ben, lea, leo] = [
    await enter('anna'),
    await enter('ben'),
    await enter('lea', 'lead'),
    await enter('leo', 'lead'),
  ]
  expect(await anna.to('/review/assign', { me: 'yes' })).toContain('/review?said=assigned&posts=rumor%7Ep%7Er1')
  expect(await ben.page('/review')).toContain('Nothing waits for you.')
  expect(await ben.page('/review?show=any')).toContain('It is assigned to somebody else.')
  expect(rowsIn(await anna.page('/review?show=assigned'))).toBe(1)
  expect(await ben.to('/review/take')).toBe('/review?said=gone')
  expect(await ben.to('/review/assign', { me: 'yes' })).toBe('/review?said=notAssigned')
  expect(told).toHaveLength(1)
  // Handed over while they have it: it is given back.
  await anna.to('/review/take')
  expect(await anna.to('/review/assign', { to: ' lea ' })).toContain('/review?said=assigned&posts=rumor%7Ep%7Er1')
  expect(await lea.page('/review?show=assigned')).toContain('Assigned to')
  await lea.to('/review/take')
  // Lea leaves in the middle: another lead takes it away from her, and from her assignment.
  expect(await leo.page('/review?show=all')).toContain('/review/release')
  expect(await leo.to('/review/release')).toContain('said=back')
  expect(await leo.to('/review/assign', { to: '' })).toContain('/review?said=assigned&posts=rumor%7Ep%7Er1')
  expect(told.map(({ to, by }) => [to, by])).toEqual([
    ['anna', 'anna'],
    ['lea', 'anna'],
    [null, 'leo'],
  ])
  expect(rowsIn(await ben.page('/review'))).toBe(1)
  isAway = true
  expect(await ben.to('/review/assign', { me: 'yes' })).toBe('/review?said=untold')
  expect(await anna.page('/verdict?id=rumor~p~r1')).toContain('assigned it to')
})

it('places that an address can’t have begin at the first page', async () => {
  const { console, page } = await atWork()
  for (let n = 0; n < 23; n++) await console.judged({ verdict: { ...DOUBTFUL, subjectId: `s${n}` } })
  const [first] = [rowsIn(await page('/review'))]
  expect(first).toBe(20)
  const session = { ...console.sessions.of({ by: 'anna', grants: [] }), tenants: undefined }
  const placeIn = (after: string) => listedQueue(new URLSearchParams({ after }), session, 9).after
  // PostgreSQL takes no part of a millisecond.
  expect(['[1,0.5,1,"x"]', '[1.5,0,1,"x"]', '[1,0,1.5,"x"]'].map((after) => placeIn(after) === null)).toEqual([
    false,
    true,
    true,
  ])
  for (const after of ['[', '{}', '[1,2,3]', '[9e99,1,1,"x"]', '["a",1,1,"x"]', 'null', '[1e999,0,0,""]'])
    expect([after, rowsIn(await page(`/review?after=${encodeURIComponent(after)}`))]).toEqual([after, 20])
  const next = /rel="next" href="([^"]+)"/.exec(await page('/review'))?.[1]?.replaceAll('&amp;', '&') ?? ''
  expect(rowsIn(await page(next))).toBe(3)
})

it('of ten people who ask at once each post goes to one; in two tabs one decision is made, though the clock was set back', async () => {
  const { console, decided } = await atWork()
  for (const subjectId of ['a', 'b', 'c']) await console.judged({ verdict: { ...DOUBTFUL, subjectId } })
  const people = Array.from({ length: 10 }, (_, n) => `person ${n}`)
  const entered = await Promise.all(
    people.map(async (by) => {
      const cookie = `gavel-console-8421=${console.sessions.open({ by, grants: [{ role: 'moderator' }] })}`
      const token = tokenIn((await console.page('/health', cookie)).text)
      const send = async (path: string, fields: Record<string, string> = {}) =>
        (await console.post(path, { token, ...fields }, { cookie })).headers.get('location') ?? ''
      return { send }
    }),
  )
  const taken = await Promise.all(entered.map(({ send }) => send('/review/next')))
  const items = taken.filter((address) => address.startsWith('/review/item'))
  expect(new Set(items).size).toBe(3)
  expect(items).toHaveLength(3)
  expect(taken.filter((address) => address === '/review?said=none')).toHaveLength(7)
  const who = entered[taken.findIndex((address) => address.startsWith('/review/item'))]
  const id = idIn(items[0] ?? '')
  console.pass(-60_000)
  const tabs = [
    { id, label: 'rumor', code: 'fits', once: 'one' },
    { id, label: 'non-rumor', code: 'irony', why: 'x', once: 'other' },
  ]
  const answers: (string | undefined)[] = []
  for (const fields of tabs) answers.push(await who?.send('/review/decide', fields))
  expect(answers).toEqual(['/review?said=last', '/review?said=gone'])
  expect(decided.map(({ label }) => label)).toEqual(['rumor'])
})
