import { parseHTML } from 'linkedom'
import { expect, it } from 'vitest'
import type { ServiceStatus } from '../../src/console/health.ts'
import { StatusHistory } from '../../src/console/status-history.ts'
import { noComments } from '../../src/contracts/facts/verdict.ts'
import { at } from '../contracts/record.ts'
import { aConsole, aTurn, WELL } from './console-for-tests.ts'

it('draws how the comments’ stance grew, with each revision, and says the same in a table', async () => {
  const console = await aConsole()
  const scores = [0.8, -0.6, 0.1, 0.9]
  for (const [revision, count] of [2, 4].entries()) {
    const comments = scores.slice(0, count).map((_, n) => ({ id: `c${n}`, text: `reply ${n}` }))
    const answer = { scores: scores.slice(0, count).map((score, n) => ({ comment: n + 1, reason: '', score })) }
    // As in a replay: both are opened long after their comments.
    const moment = at([50, 60][revision] ?? 0)
    await console.judged({
      verdict: {
        revision: revision + 1,
        label: revision === 0 ? 'rumor' : 'non-rumor',
        timing: { createdAt: at(0), receivedAt: at(0), openedAt: moment, decidedAt: moment, modelMs: 0, overheadMs: 0 },
        evidence: { support: ['c0'], oppose: ['c1'], precedents: [] },
        counts: { ...noComments(), accepted: count, judged: count },
        scores: { support: revision + 1, oppose: 1 },
      },
      comments,
      turns: [aTurn('stance', 'scorer', answer, { about: comments.map(({ id }) => id) })],
    })
  }
  const cookie = await console.signedIn()
  const { text } = await console.page('/verdict?id=rumor~p~r2', cookie)
  const { document } = parseHTML(text)
  const figure = document.querySelector('.stance')
  expect(figure?.getAttribute('aria-label')).toContain(
    '4 comments over time, with a mean of +0.3 at the end, and 2 rev',
  )
  expect(figure?.querySelectorAll('circle').length).toBe(4)
  expect(figure?.querySelectorAll('[stroke-dasharray] line').length).toBe(2)
  expect([...(figure?.querySelectorAll('g:not([font-variant]) > text') ?? [])].map((one) => one.textContent)).toEqual([
    '1',
    '2',
  ])
  const rows = [...document.querySelectorAll('section[aria-labelledby=stance] tbody tr')].map((row) =>
    [...row.querySelectorAll('th, td')].map(({ textContent }) => textContent).toSpliced(1, 1),
  )
  expect(rows).toEqual([
    ['revision 1', 'rumor', '2', '1', '1'],
    ['revision 2', 'non-rumor', '4', '2', '1'],
  ])
  expect(text).not.toContain('have no score')
  // Each line stands at the last comment of its revision.
  const places = [...(figure?.querySelectorAll('circle') ?? [])].map((one) => Number(one.getAttribute('cx')))
  const lines = [...(figure?.querySelectorAll('[stroke-dasharray] line') ?? [])].map((one) =>
    Number(one.getAttribute('x1')),
  )
  expect(lines.map(Math.round)).toEqual([places[1], places[3]].map((one) => Math.round(one ?? 0)))
  // A saved file has it as well, and nothing in it that its policy blocks.
  const file = await console.page('/verdict/file?id=rumor~p~r2', cookie)
  expect(file.text).toContain('class="stance"')
  expect(parseHTML(file.text).document.querySelectorAll('svg style').length).toBe(0)
})

it('says between which revisions a line stands for several', async () => {
  const console = await aConsole()
  const answer = { scores: [0, 1].map((n) => ({ comment: n + 1, reason: '', score: 0.5 })) }
  const comments = [0, 1].map((n) => ({ id: `c${n}`, text: `reply ${n}` }))
  for (const [nth, accepted] of [1, 2, 2, 2].entries()) {
    const moment = at(50 + nth)
    await console.judged({
      verdict: {
        revision: nth + 1,
        timing: { createdAt: at(0), receivedAt: at(0), openedAt: moment, decidedAt: moment, modelMs: 0, overheadMs: 0 },
        counts: { ...noComments(), accepted, judged: accepted },
      },
      comments,
      turns: [aTurn('stance', 'scorer', answer, { about: comments.map(({ id }) => id) })],
    })
  }
  const { text } = await console.page('/verdict?id=rumor~p~r4', await console.signedIn())
  const numbers = parseHTML(text).document.querySelectorAll('.stance g:not([font-variant]) > text')
  expect([...numbers].map((one) => one.textContent)).toEqual(['1', '2–4'])
})

it('leaves room for the thread, however long after it somebody decided', async () => {
  const console = await aConsole()
  const comments = [0, 1, 2].map((n) => ({ id: `c${n}`, text: `reply ${n}` }))
  const answer = { scores: comments.map((_, n) => ({ comment: n + 1, reason: '', score: 0.5 })) }
  const timing = (moment: string) => {
    const none = { createdAt: at(0), receivedAt: at(0), modelMs: 0, overheadMs: 0 }
    return { ...none, openedAt: moment, decidedAt: moment }
  }
  const turns = [aTurn('stance', 'scorer', answer, { about: comments.map(({ id }) => id) })]
  const unscored = { id: 'c3', text: 'reply 3' }
  await console.judged({ verdict: { timing: timing(at(3)) }, comments: [...comments, unscored], turns })
  const cookie = await console.signedIn()
  const drawn = async (id: string) => {
    const { text } = await console.page(`/verdict?id=${id}`, cookie)
    const figure = parseHTML(text).document.querySelector('.stance')
    const places = [...(figure?.querySelectorAll('circle') ?? [])].map((one) => Number(one.getAttribute('cx')))
    const rules = [...(figure?.querySelectorAll('[stroke-dasharray] line') ?? [])]
    return { span: Math.max(...places) - Math.min(...places), rules: rules.length, text }
  }
  const { text } = await drawn('rumor~p~r1')
  expect(text).not.toContain('stands at the edge')
  expect(text).toContain('1 of the 4 comments have no score and are not in it.')
  const decision = { by: 'ann', against: 'rumor~p~r1', of: '0@0' }
  const human = {
    revision: 2,
    decidedBy: 'human',
    label: 'non-rumor',
    decision,
    timing: timing(at(9_000_000)),
  } as const
  await console.judged({ verdict: human, comments })
  const late = await drawn('rumor~p~r2')
  expect(late.span).toBeGreaterThan(100)
  expect(late.rules).toBe(2)
  expect(late.text).toContain('stands at the edge')
})

it('draws the line of a large thread alone, by as many points as can be told apart, and to its end', async () => {
  const console = await aConsole()
  const scores = Array.from({ length: 2_000 }, (_, n) => Math.sin(n))
  const comments = scores.map((_, n) => ({ id: `c${n}`, text: 'reply' }))
  const answer = { scores: scores.map((score, n) => ({ comment: n + 1, reason: '', score })) }
  await console.judged({
    verdict: {
      timing: { createdAt: at(0), receivedAt: at(0), openedAt: at(60), decidedAt: at(60), modelMs: 0, overheadMs: 0 },
    },
    comments,
    turns: [aTurn('stance', 'scorer', answer, { about: comments.map(({ id }) => id) })],
  })
  const { text } = await console.page('/verdict?id=rumor~p~r1', await console.signedIn())
  const figure = parseHTML(text).document.querySelector('.stance')
  expect(figure?.getAttribute('aria-label')).toContain('2000 comments')
  expect(figure?.querySelectorAll('circle').length).toBe(0)
  const line =
    [...(figure?.querySelectorAll('path[fill=none], [fill=none] > path') ?? [])].at(-1)?.getAttribute('d') ?? ''
  // Two strokes a step.
  expect(line.split('L').length).toBeGreaterThan(600)
  expect(line.split('L').length).toBeLessThan(900)
})

it('draws no stance of a thread in which fewer than two comments were scored', async () => {
  const console = await aConsole()
  await console.judged({
    comments: [
      { id: 'c0', text: 'yes' },
      { id: 'c1', text: 'no' },
    ],
  })
  expect((await console.page('/verdict?id=rumor~p~r1', await console.signedIn())).text).not.toContain('class="stance"')
})

it('health shows in small what the dashboards show: rates since the look before, sums, and what is not known', () => {
  const [history, silent] = [new StatusHistory(), new StatusHistory()]
  const status = (minute: number, verdicts: number, change: Partial<ServiceStatus> = {}): ServiceStatus => ({
    ...WELL,
    at: minute * 60_000,
    replicas: [
      {
        url: 'a',
        says: { wrong: [], slots: { busy: 3, waiting: 0 }, published: { verdicts }, costUsd: verdicts / 100 },
      },
      { url: 'b', says: null },
    ],
    lag: [
      { topic: 'posts', messages: 4, seconds: 2 },
      { topic: 'comments', messages: 6, seconds: null },
    ],
    ...change,
  })
  history.note(status(0, 100))
  history.note(status(1, 160))
  // A process that has started anew counts from 0.
  history.note(status(2, 5))
  const figures = history.figures(status(4, 25, { lag: null, openCases: 7 }))
  const told = Object.fromEntries(figures.map(({ name, value, values, most }) => [name, { value, values, most }]))
  expect(told).toMatchObject({
    'Verdicts / min': { value: '10', values: [0, 60, 0, 10], most: 'max 60' },
    Unread: { value: '?', values: [10, 10, 10, 0], most: 'max 10' },
    'Oldest wait': { value: '?', most: 'max 2 s' },
    'At models': { value: '3' },
    'Open cases': { value: '7', values: [0, 0, 0, 7] },
    'US$ / min': { value: '0.10' },
  })
  // What did not answer for a while has not published all of its verdicts since.
  for (const [minute, verdicts] of [100, 150, null, 170, 180].entries()) {
    const [one] = status(minute + 10, verdicts ?? 0).replicas
    const replicas = [...(one === undefined ? [] : [{ ...one, says: verdicts === null ? null : one.says }])]
    silent.note(status(minute + 10, 0, { replicas }))
  }
  expect(silent.figures(status(15, 180))[0]?.values).toEqual([0, 50, 0, 10, 10, 0])
  for (let minute = 5; minute < 200; minute++) history.note(status(minute, minute))
  expect(history.figures(status(200, 200))[0]?.values.length).toBe(61)
})
