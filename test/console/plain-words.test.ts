import { parseHTML } from 'linkedom'
import { expect, it } from 'vitest'
import { BY_HAND } from '../../src/contracts/facts/by-hand.ts'
import { aConsole, aTurn } from './console-for-tests.ts'

const read = async (console: Awaited<ReturnType<typeof aConsole>>, path: string) => {
  const { text } = await console.page(path, await console.signedIn())
  const { document } = parseHTML(text)
  return {
    of: (place: string) => (document.querySelector(place)?.textContent ?? '').replace(/\s+/g, ' ').trim(),
    document,
  }
}

const SCORES = [
  { comment: 1, score: 0.5, reason: '' },
  { comment: 2, score: 1, reason: '' },
  { comment: 3, score: -0.9, reason: '' },
  { comment: 4, score: -0.1, reason: '' },
]

/** A debate over three of the four comments that take a side; the fourth was counted alone. */
async function debated(console: Awaited<ReturnType<typeof aConsole>>, label: string) {
  const leftOut = { cap: 0, late: 0, folded: 0, author: 0, unscored: 0, load: 0 }
  return console.judged({
    verdict: {
      subjectId: 'quay',
      revision: 2,
      label,
      decidedBy: 'consensus',
      scores: { support: 2, oppose: 2 },
      evidence: { support: ['c1', 'c2'], oppose: ['c3'], precedents: [] },
      counts: { accepted: 4, judged: 4, leftOut },
    },
    comments: [
      { id: 'c1', text: 'so I heard', author: 'lou\u200b' },
      { id: 'c2', text: 'I saw the cracks myself', author: 'lou' },
      { id: 'c3', text: 'the port says it is closed for paint', author: 'port' },
      { id: 'c4', text: 'I take it back', author: 'kai' },
    ],
    turns: [
      aTurn('stance', 'scorer (batch 1)', { scores: SCORES }, { about: ['c1', 'c2', 'c3', 'c4'] }),
      aTurn('opinion', 'debater (support)', { reasoning: 'seen', label: 'Fake' }),
      aTurn('opinion', 'debater (oppose)', { reasoning: 'denied', label: 'Fake' }),
    ],
  })
}

it('comments that counted but were not read by the debaters are marked and shown apart', async () => {
  const console = await aConsole()
  const { id } = await debated(console, 'rumor')
  const { of, document } = await read(console, `/verdict?id=${id}`)
  expect(of('.missing')).toBe(
    'Was anything left out? All 4 comments were judged, and every question had an answer. The debaters read 3 of the 4 comments that take a side, the strongest of each. The others were only counted.',
  )
  expect([...document.querySelectorAll('.counted h4')].map(({ textContent }) => textContent)).toEqual([
    '2 that support it, by one author',
    '1 of 2 that opposes it, by one author',
  ])
  expect(of('section[aria-labelledby=comments] h3')).toBe('Read by the debaters')
  expect(of('section[aria-labelledby=comments] details')).toMatch(/^1 more, not read by the debaters.*I take it back/)
})

it('the strongest comment of each side is shown under the reasons, in its own words', async () => {
  const console = await aConsole()
  const { id } = await debated(console, 'rumor')
  const why = (await read(console, `/verdict?id=${id}`)).of('.why')
  expect(why).toContain('Scored highest for it: “I saw the cracks myself” lou +1')
  expect(why).toContain('Scored highest against it: “the port says it is closed for paint” port −0.9')
})

it('a verdict shows its earlier label; its form shows the current label and the name of whoever decides', async () => {
  const console = await aConsole()
  await console.judged({ verdict: { subjectId: 'quay', revision: 1, label: 'non-rumor' } })
  const { id } = await debated(console, 'rumor')
  const { of, document } = await read(console, `/verdict?id=${id}`)
  expect(of('.headline')).toContain('It was non-rumor up to revision 1.')
  const labels = [...document.querySelectorAll('.decide label.box')].map(({ textContent }) => textContent ?? '')
  expect(labels.map((one) => one.includes('(current)'))).toEqual([true, false])
  expect(of('.decide')).toContain('Recorded as anna.')
})

it('what the machines said is told from what a person decided, in every protocol', async () => {
  const console = await aConsole()
  const first = await console.judged({
    verdict: { protocol: 'safety', label: 'safe', decidedBy: 'arbiter', rounds: 0, rationale: 'harmless' },
    turns: [aTurn('arbitrate', 'arbiter', { reason: 'a joke', score: 0.05, label: 'safe' })],
  })
  const alone = await read(console, `/verdict?id=${first.id}`)
  expect(alone.of('.headline .how')).toContain('The arbiter ruled alone.')
  expect([alone.of('.bench h2'), alone.of('main').includes('A person decided')]).toEqual(['The decision', false])
  const decision = { by: 'mia', against: first.id, of: '0@7' }
  const { id } = await console.judged({
    verdict: { protocol: 'safety', revision: 2, label: 'unsafe', decidedBy: 'human', decision, supersedes: first.id },
  })
  const { of } = await read(console, `/verdict?id=${id}`)
  expect(of('.bench h2')).toBe('What the machines decided')
  const all = of('main')
  const notice = all.indexOf('A person decided. What follows is of the machines’ revision 1.')
  expect([notice > all.indexOf('The person’s reason'), notice < all.indexOf('Was anything left out?')]).toEqual([
    true,
    true,
  ])
  expect(notice).toBeGreaterThan(0)
})

it('a second opinion is requested without a word of the current verdict', async () => {
  const console = await aConsole()
  const { id } = await debated(console, 'rumor')
  const decision = { by: 'mia', against: id, of: '0@7' }
  await console.judged({
    verdict: { subjectId: 'quay', revision: 3, label: 'non-rumor', decidedBy: 'human', decision, supersedes: id },
  })
  const cookie = await console.signedIn('ben')
  const form = (await console.page('/review', cookie)).text
  const token = /name="token" value="([^"]+)"/.exec(form)?.[1] ?? ''
  const taken = await console.post('/review/next', { token }, { cookie })
  const { text } = await console.page(taken.headers.get('location') ?? '', cookie)
  expect(text).toContain('A second opinion')
  expect(text).not.toContain('as it stands now')
  expect(text).not.toContain('Read by the debaters')
  expect(text).not.toContain('Scored highest')
})

it('a saved file names who was asked and who answered, that no person was there, and how many scores are older', async () => {
  const console = await aConsole()
  const first = await console.judged({
    verdict: { subjectId: 'pier', label: 'rumor', evidence: { support: ['c1'], oppose: [], precedents: [] } },
    comments: [{ id: 'c1', text: 'old' }],
    turns: [aTurn('stance', 'scorer (batch 1)', { scores: [{ comment: 1, score: 1, reason: '' }] }, { about: ['c1'] })],
  })
  const call = { id: 'x', outcome: 'answered' as const, model: 'asked-for', startedAt: '', ms: 1 }
  const { id } = await console.judged({
    verdict: {
      subjectId: 'pier',
      label: 'rumor',
      revision: 2,
      supersedes: first.id,
      evidence: { support: ['c1', 'c2'], oppose: [], precedents: [] },
    },
    comments: [
      { id: 'c1', text: 'old' },
      { id: 'c2', text: 'new' },
    ],
    turns: [
      aTurn(
        'stance',
        'scorer (batch 1)',
        { scores: [{ comment: 1, score: 1, reason: '' }] },
        {
          about: ['c2'],
          model: 'who-answered',
          calls: [{ ...call, promptTokens: 1, cachedTokens: 0, completionTokens: 1, costUsd: 0 }],
        },
      ),
      aTurn('opinion', 'debater (support)', { reasoning: 'so', label: 'Fake' }),
    ],
  })
  const saved = await console.ask(`/verdict/file?id=${id}`, { headers: { cookie: await console.signedIn() } })
  const { document } = parseHTML(await saved.text())
  const text = (document.body.textContent ?? '').replace(/\s+/g, ' ')
  expect(document.title).toBe(`Record of verdict ${id}, saved 1970-01-01`)
  expect(text).toContain('Answering model, by its own namewho-answered')
  expect(text).toContain('Model that was askedasked-for')
  expect(text).toContain('the record held no decision, opinion or feedback of a person')
  expect(text).toContain('1 of 2 scores of comments were asked for in earlier revisions')
})

it('scores in place of a label are explained beside them, once', async () => {
  const console = await aConsole()
  const { id } = await console.judged({
    verdict: { protocol: 'counterspeech', label: null, decidedBy: 'scores', scores: { relevance: 2, unified: 1.5 } },
  })
  const { of } = await read(console, `/verdict?id=${id}`)
  const says = 'All in all 1.5, from 1 (a bad answer) to 5 (a good one).'
  expect(of('.headline .how')).toBe(`${says} It was scored, aspect by aspect.`)
  expect(of('main').split(says)).toHaveLength(2)
})

it('health says what waits for people, beside what waits for the service', async () => {
  const { of } = await read(await aConsole({ waiting: 56 }), '/health')
  expect(of('main')).toContain('Nothing waits to be judged or sent. 56 verdicts wait for a person: Review')
  expect((await read(await aConsole({ waiting: 56, appealed: 2 }), '/health')).of('main')).toMatch(
    /Review 2 of them were appealed against: Appeals, since \S/,
  )
  expect((await read(await aConsole(), '/health')).of('main')).toContain('No verdict waits for a person.')
})

it('every page says that the understudy answers where it does, and only there', async () => {
  const says = 'No language model answers: answers come from word lists, or were recorded by hand where they say so.'
  for (const path of ['/live', '/health', '/search']) {
    expect((await read(await aConsole({ isUnderstudy: true }), path)).of('.stand-in')).toBe(says)
    expect((await read(await aConsole(), path)).of('body')).not.toContain(says)
  }
})

it('a verdict says that its argument was recorded by hand, or a part of it, and only then', async () => {
  const console = await aConsole()
  const notice = async (...answered: string[]) => {
    const models = Object.fromEntries(answered.map((model, at) => [`role ${at}`, model]))
    const { id } = await console.judged({ verdict: { subjectId: `of ${answered.join(' ')}`, models } })
    return (await read(console, `/verdict?id=${id}`)).of('main')
  }
  expect(await notice(BY_HAND)).toContain('What is said here was recorded by hand: no language model answered.')
  expect(await notice(BY_HAND, 'small')).toContain('Part of what is said here was recorded by hand')
  expect(await notice('small')).not.toContain('by hand')
})

it('what a list decided shows no argument of the revision before it', async () => {
  const console = await aConsole()
  const argued = await debated(console, 'rumor')
  const later = { revision: 3, supersedes: argued.id, evidence: { support: [], oppose: [], precedents: [] } }
  const shownOf = async (decidedBy: 'veto' | 'vote') => {
    const { id } = await console.judged({
      verdict: { subjectId: 'quay', label: 'rumor', ...later, revision: decidedBy === 'veto' ? 4 : 3, decidedBy },
      turns: [],
    })
    return (await read(console, `/verdict?id=${id}`)).of('main')
  }
  expect(await shownOf('vote')).toContain('Little has changed since revision 2')
  expect(await shownOf('veto')).not.toContain('Little has changed')
})
