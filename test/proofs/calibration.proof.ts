import { expect, it } from 'vitest'
import { tell } from '../support/pipeline.ts'
import { gainOf, TRAITS } from '../support/planted.ts'

it('claims a gain on ratings of pure noise in at most 10 of 100 fixed seeds', async () => {
  let claimed = 0
  for (let seed = 1; seed <= 100; seed++) if ((await gainOf(null, `noise ${seed}`)).gain.claimed) claimed++
  tell(`noise: gain claimed in ${claimed} of 100 seeds`)
  expect(claimed).toBeLessThanOrEqual(10)
})

it('claims a gain on noise in at most 5 of 100 fixed seeds where the steps of before are at ρ −0.3', async () => {
  let [claimed, rho] = [0, 0]
  for (let seed = 1; seed <= 100; seed++) {
    const { gain } = await gainOf(null, `noise ${seed}`, { shipped: 'against' })
    rho += (gain.before.spearman ?? 0) / 100
    if (gain.claimed) claimed++
  }
  tell(`noise, ρ ${rho.toFixed(2)} before: gain claimed in ${claimed} of 100 seeds`)
  expect(claimed).toBeLessThanOrEqual(5)
})

it('finds a planted rule in 20 of 20 seeds', async () => {
  let claimed = 0
  for (let seed = 1; seed <= 20; seed++)
    if ((await gainOf(TRAITS[(seed * 7) % TRAITS.length] as string, String(seed))).gain.claimed) claimed++
  tell(`planted: gain claimed in ${claimed} of 20 seeds`)
  expect(claimed).toBe(20)
})
