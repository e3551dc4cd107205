import { afterEach, describe, expect, it } from 'vitest'
import { type AgreementQuery, agreementOfGroups } from '../../src/contracts/facts/agreement.ts'
import type { RecordStore } from '../../src/contracts/ports/record.ts'
import type { ReviewQueue } from '../../src/contracts/ports/review.ts'
import type { DrawShares } from '../../src/record/draws.ts'
import type { QueueRules } from '../../src/record/review-queue.ts'
import { countedApart, PACE, plantWords, sameForm } from '../support/planted-words.ts'
import { at, DAY, feed } from './record.ts'

const POSTS = 120

/** What every record promises of verdicts beside people's words. */
export function agreementContract(
  where: string,
  make: (review: QueueRules & DrawShares) => Promise<{ store: RecordStore; queue: ReviewQueue }>,
): void {
  describe(`verdicts beside people’s words ${where}`, () => {
    const open: { close(): Promise<void> }[] = []
    afterEach(async () => {
      for (const one of open.splice(0)) await one.close()
    })
    async function start() {
      const { store, queue } = await make({ costs: {}, ownCaseAfter: DAY, auditShare: 0, blindShare: 0 })
      open.push(queue, store)
      return { store, queue, topics: feed(store) }
    }

    it('are told apart by the commonest languages and labels alone: authors write whatever they like there', async () => {
      const { queue, topics } = await start()
      await topics.together(async () => {
        for (let n = 0; n < 450; n++) {
          const subjectId = `p${n}`
          await topics.judged({ subjectId, label: 'rumor' }, 'a post', {}, { lang: n % 2 === 0 ? 'de' : `xx-${n}` })
          const label = n % 3 === 0 ? 'rumor' : `label-${n}`
          await topics.send('feedback', subjectId, { subjectId, protocol: 'rumor', label, by: 'ann', at: at(1) }, 1)
        }
      })
      const groups = await queue.comparedGroups({ since: 0 })
      const [languages, labels] = [new Set(groups.map(({ lang }) => lang)), new Set(groups.map(({ people }) => people))]
      expect([languages.size, labels.size]).toEqual([201, 201])
      expect([languages.has('de'), languages.has('(others)'), labels.has('rumor')]).toEqual([true, true, true])
      expect(groups.reduce((sum, { count }) => sum + count, 0)).toBe(450)
      const { figures } = agreementOfGroups(groups)
      expect(figures.find(({ part }) => part === 'all')).toMatchObject({ agreeing: 150, of: 450 })
      expect(figures.find(({ part, value }) => part === 'language' && value === 'de')).toMatchObject({ of: 225 })
    })

    it('are counted as a script counts them that shares no code, by each tenant, source and time', async () => {
      const { queue, topics } = await start()
      const lines = await plantWords(topics.send, POSTS)
      const all: AgreementQuery[] = [
        { since: 0 },
        { since: 0, tenants: ['acme'] },
        { since: 0, tenants: [] },
        { since: Date.parse(at(Math.floor(lines.length / 2) * PACE)) },
        { since: 0, source: 'decision' },
        { since: 0, source: 'feedback', seen: 'blind', tenants: ['default'] },
      ]
      for (const query of all)
        expect(sameForm(agreementOfGroups(await queue.comparedGroups(query))), JSON.stringify(query)).toEqual(
          sameForm(countedApart(lines, query)),
        )
      const { figures, cells } = agreementOfGroups(await queue.comparedGroups({ since: 0 }))
      expect(figures.length).toBeGreaterThan(25)
      expect(cells.some(({ machine }) => machine === null)).toBe(true)

      // Behind each figure stand just as many posts, on pages that neither repeat nor leave out any.
      for (const { protocol, part, value, agreeing, of, undecided } of figures) {
        const posts = async (more: { agrees?: boolean; machine?: string }) => {
          const found: string[] = []
          for (let before: string | undefined; ; ) {
            const page = await queue.compared({ since: 0, protocol, part, value, before, ...more }, 7)
            found.push(...page.map(({ verdict }) => verdict))
            before = page.at(-1)?.place
            if (page.length < 7) return new Set(found).size === found.length ? found.length : Number.NaN
          }
        }
        expect([await posts({ agrees: true }), await posts({ agrees: false }), await posts({ machine: '' })]).toEqual([
          agreeing,
          of - agreeing,
          undecided,
        ])
      }
      for (const { protocol, people, machine, count } of cells)
        expect(
          (await queue.compared({ since: 0, protocol, people, machine: machine ?? '' }, 1_000)).map((one) => [
            one.people,
            one.machine,
          ]),
        ).toEqual(Array.from({ length: count }, () => [people, machine]))
    })

    it('go with what they are about, and with their time', async () => {
      const { store, queue, topics } = await start()
      await topics.judged({ subjectId: 'p' }, 'x')
      await topics.judged({ subjectId: 'q', seconds: 5 }, 'x')
      for (const subjectId of ['p', 'q'])
        await topics.send(
          'feedback',
          subjectId,
          { subjectId, protocol: 'rumor', label: 'rumor', by: 'desk', at: at(9) },
          9,
        )
      const counted = async () => (await queue.comparedGroups({ since: 0 })).reduce((sum, { count }) => sum + count, 0)
      expect(await counted()).toBe(2)
      await topics.send('posts', 'p', { id: 'p', createdAt: at(10), deleted: true }, 10)
      expect(await counted()).toBe(1)
      await store.tidy(Date.parse(at(10)) + 201 * DAY)
      expect(await counted()).toBe(0)
    })
  })
}
