import { expect, it } from 'vitest'
import { reachOfRun } from './counts/reach.ts'

it('the service can load nothing of data sets, evaluations and tools', () => {
  const reached = reachOfRun()
  expect(reached).toEqual(expect.arrayContaining(['src/app/composition/service.ts', 'src/judging/engine/judge.ts']))
  expect(reached.length).toBeGreaterThan(150)
  expect(reached.filter((file) => /^src\/(lab|kit)\//.test(file))).toEqual([])
  expect(reached.filter((file) => /^src\/commands\/.*\//.test(file))).toEqual([])
})
