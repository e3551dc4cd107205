import { expect, it } from 'vitest'
import { tell } from '../support/pipeline.ts'
import { gainOf } from '../support/planted.ts'

it('claims a gain on ratings of pure noise in at most 10 of 100 fixed seeds', async () => {
  let claimed = 0
  for (let seed = 1; seed <= 100; seed++) if ((await gainOf(null, `noise ${seed}`)).gain.claimed) claimed++
  tell(`noise: gain claimed in ${claimed} of 100 seeds`)
  expect(claimed).toBeLessThanOrEqual(10)
})
