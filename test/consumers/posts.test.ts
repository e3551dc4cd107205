import { expect, test } from 'vitest'
import type { ReadOk } from '../../consumers/intake.ts'
import { posts } from '../../consumers/posts.ts'
import { memoryStores } from '../../src/adapters/memory/stores.ts'
import type { PostMessage } from '../../src/domain/messages.ts'
import { samplingRanks } from '../../src/domain/sampling-rank.ts'
import { router } from '../../src/engine/routes.ts'
import { HOUR, postOf, RULES, said, T0, thread } from '../contracts/samples.ts'
import { judgeOnce, readThread, type Stores } from '../contracts/stores.ts'
import { protocolNamed } from '../support/parts.ts'

test('an edit under a key that would not draw its post leaves a judged thread its comments, and takes no other in', async () => {
  const stores: Stores = { ...memoryStores(() => T0), pass: async () => {}, close: async () => {} }
  const rumor = protocolNamed('rumor')
  const routesUnder = (key: string) => router([rumor], { rumor: [{ sample: 0.5 }] }, samplingRanks(key))
  const take = async (key: string, postId: string, text: string) => {
    const intake = posts({
      threads: stores.threads,
      routes: routesUnder(key),
      erase: async () => 'deleted',
      rules: RULES,
      checkpoints: { counts: [], ages: [], finalAge: HOUR },
      clock: () => T0,
    })
    const from = { topic: 'posts', partition: 0, offset: text, timestamp: Number(text) }
    const message = { id: postId, tenant: 'default', text, createdAt: T0 }
    return intake.take([{ message, from } as unknown as ReadOk<PostMessage>])
  }
  const keys = Array.from({ length: 50 }, (_, at) => `key ${at}`)
  const isDrawn = (key: string) => routesUnder(key).of(thread('p'), postOf(thread('p'))).length === 1
  const [first = '', other = ''] = [keys.find(isDrawn), keys.find((key) => !isDrawn(key))]
  expect([first, other]).not.toContain('')

  expect(await take(first, 'p', '1')).toEqual(['judged'])
  await stores.threads.putComments(thread('p'), [said('c1'), said('c2')], T0, RULES)
  await judgeOnce(stores, thread('p'))
  expect(await take(other, 'p', '2')).toEqual(['updated'])
  expect((await readThread(stores, thread('p'))).comments).toHaveLength(2)
  expect(await take(other, 'p', '3')).toEqual(['updated'])

  const unseen = keys.find((id) => routesUnder(other).of(thread(id), postOf(thread(id))).length === 0) ?? ''
  expect(await take(other, unseen, '1')).toEqual(['unrouted'])
})
