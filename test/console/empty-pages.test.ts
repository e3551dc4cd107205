import { parseHTML } from 'linkedom'
import { expect, it } from 'vitest'
import { aConsole } from './console-for-tests.ts'

it.each([
  ['/live', 'No verdict has come yet', '/health'],
  ['/live?label=nothing', 'No verdict fits these filters', '/live'],
  ['/search?q=nothing', 'Nothing was found', '/search'],
  ['/review', 'Doubtful verdicts come here by themselves', '/review?show=any'],
  ['/review?lang=xx', 'Nothing that waits fits these filters', '/review?show=any'],
  ['/review/mine', 'You have decided nothing', '/review'],
  ['/verdict?id=nothing', 'nothing is known under this id', '/search'],
])('%s says where there is nothing what to do, and leads there', async (path, says, to) => {
  const console = await aConsole()
  const { document } = parseHTML((await console.page(path, await console.signedIn())).text)
  const told = [...document.querySelectorAll('main p')].find(({ textContent }) => textContent?.includes(says))
  expect(told?.querySelector('a')?.getAttribute('href')).toBe(to)
})
