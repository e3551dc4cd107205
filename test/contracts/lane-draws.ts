import { afterEach, describe, expect, it } from 'vitest'
import { laneMark } from '../../src/contracts/facts/lane-mark.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import type { RecordStore } from '../../src/contracts/ports/record.ts'
import type { ReviewQueue } from '../../src/contracts/ports/review.ts'
import type { DrawShares } from '../../src/record/draws.ts'
import type { QueueRules } from '../../src/record/review-queue.ts'
import { at, DAY, feed, KEEP } from './record.ts'

const LANE = '0a1b2c3d4e5f6071'
const VERSIONS = { script: 1, prompts: 'p', settings: 's', lane: LANE }

/** What becomes of what first lanes settled, in every record: no edit and no deletion takes an error out of an audit. */
export function laneDrawsContract(
  where: string,
  make: (review: QueueRules & DrawShares) => Promise<{ store: RecordStore; queue: ReviewQueue }>,
): void {
  describe(`draws of first lanes ${where}`, () => {
    const open: { close(): Promise<void> }[] = []
    afterEach(async () => {
      for (const one of open.splice(0)) await one.close()
    })
    async function start() {
      const { store, queue } = await make({ costs: {}, ownCaseAfter: DAY, auditShare: 1, blindShare: 0 })
      open.push(queue, store)
      const topics = feed(store)
      let seconds = 0
      const judged = (subjectId: string, revision: number, change: Partial<Verdict>) =>
        topics.judged({ subjectId, revision, seconds: seconds++, ...change }, 'x', {}, { lang: 'en' })
      return {
        store,
        audit: () => queue.laneAudit(LANE, { risk: 0.05, groups: 1 }),
        /** The lane's verdict, always that it is a rumor. */
        settled: (subjectId: string, revision = 1) =>
          judged(subjectId, revision, { decidedBy: 'lane', label: 'rumor', versions: VERSIONS }),
        machine: (subjectId: string, revision: number) => judged(subjectId, revision, { decidedBy: 'consensus' }),
        decided: (subjectId: string, revision: number, label: string, more: object = {}) =>
          judged(subjectId, revision, {
            decidedBy: 'human',
            label,
            decision: { by: 'ann', against: null, of: '0@0', ...more },
          }),
        withdrawn: (subjectId: string, revision: number, from: string) =>
          judged(subjectId, revision, {
            decidedBy: 'lane',
            label: 'rumor',
            versions: VERSIONS,
            restored: { from, by: 'ann', why: 'w', of: '0@1' },
          }),
        erased(id: string) {
          seconds += 100
          return topics.send('posts', id, { id, createdAt: at(0), deleted: true }, seconds)
        },
      }
    }

    it('keeps what people found through edits, later words of a lane, and the deletion of the post', async () => {
      const { store, audit, settled, decided, machine, erased } = await start()
      for (const id of ['a', 'b', 'c']) {
        await settled(id)
        await decided(id, 2, 'non-rumor')
      }
      await machine('a', 3)
      await settled('b', 3)
      await decided('b', 4, 'rumor')
      const { evidence } = await audit()
      expect(await audit()).toMatchObject({ drawn: 3, audited: 3, wrong: 3, lost: 0, next: null, nextSince: null })
      expect(evidence).toBeGreaterThan(1)
      for (const id of ['a', 'b', 'c']) await erased(id)
      expect(await audit()).toMatchObject({ drawn: 3, audited: 3, wrong: 3, lost: 0, evidence })
      // For as long as the record keeps anything.
      await store.tidy(Date.parse(at(0)) + KEEP + DAY)
      expect((await audit()).drawn).toBe(0)
    })

    it('counts what was edited or erased before anybody looked as lost, and never as right', async () => {
      const { audit, settled, decided, machine, erased } = await start()
      await settled('a')
      await settled('a', 2)
      await decided('a', 3, 'rumor')
      await settled('b')
      await machine('b', 2)
      await decided('b', 3, 'rumor')
      await settled('c')
      await erased('c')
      const waiting = await settled('d')
      expect(await audit()).toMatchObject({ drawn: 4, audited: 0, lost: 3, evidence: 1, next: waiting.id })
      expect((await audit()).nextSince).toBe(Date.parse(waiting.timing.openedAt))
      await decided('d', 2, 'rumor')
      expect(await audit()).toMatchObject({ drawn: 4, audited: 1, wrong: 0, lost: 3, next: null })
    })

    it('counts the label of who says that an image could not be shown: there was none', async () => {
      const { audit, settled, decided } = await start()
      await settled('a')
      await decided('a', 2, 'non-rumor', { unseen: true })
      expect(await audit()).toMatchObject({ drawn: 1, audited: 1, wrong: 1, lost: 0 })
    })

    it('waits again for a verdict whose decision was withdrawn, and takes the last word on it', async () => {
      const { audit, settled, decided, withdrawn } = await start()
      const { id } = await settled('a')
      await decided('a', 2, 'non-rumor')
      const again = await withdrawn('a', 3, id)
      expect(await audit()).toMatchObject({ drawn: 1, audited: 0, lost: 0, next: id })
      await decided('a', 4, 'non-rumor')
      await withdrawn('a', 5, again.id)
      await decided('a', 6, 'rumor')
      expect(await audit()).toMatchObject({ drawn: 1, audited: 1, wrong: 0, lost: 0 })
    })

    it('keeps that a lane is closed', async () => {
      const { store } = await start()
      expect(await store.keepClosed([])).toEqual([])
      await store.keepClosed([laneMark('b', 'acme'), laneMark('a')])
      expect((await store.keepClosed([laneMark('a')])).toSorted()).toEqual([laneMark('a'), laneMark('b', 'acme')])
    })
  })
}
