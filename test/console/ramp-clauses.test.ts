import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { protocolsOf } from '../../src/app/composition/protocols.ts'
import { ownFolder } from '../support/own-folder.ts'
import { aVerdict } from '../support/verdicts.ts'
import { servedConsole } from './served.ts'

const KEY = 'a key that the service made'

it('while a ramp is partial, a post is offered the clauses of the policy that judges it', async () => {
  const folder = ownFolder('ramp')
  writeFileSync(join(folder, 'house.md'), '# House rules\n\n## X1 Abuse\nCovers:\n- abuse of anybody\n')
  const config = join(ownFolder('ramp-settings'), 'gavel.yaml')
  const variants = { stricter: { ramp: 0.5, policies: ['house'], policiesPath: folder } }
  writeFileSync(config, JSON.stringify({ protocols: { hate: { variants } } }))
  const settings = loadSettings({}, config)
  const console = await servedConsole(() => ({ reread: () => settings, secret: async () => KEY }))
  try {
    const now = new Date().toISOString()
    const ids = Array.from({ length: 8 }, (_, n) => `p${n}`)
    for (const subjectId of ids)
      await console.topics.judged({ ...aVerdict(now, { protocol: 'hate', label: 'non-hate', subjectId }) }, 'you idiot')
    const link = new URL(console.nextLink())
    const sign = { method: 'POST', redirect: 'manual', headers: { 'sec-fetch-site': 'same-origin' } } as const
    const signed = await fetch(link, sign)
    const cookie = signed.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
    const offered = async (subjectId: string) => {
      const page = await fetch(`${console.own}/verdict?id=hate~${subjectId}~r1`, { headers: { cookie } })
      return (await page.text()).includes('value="X1"')
    }
    const hate = protocolsOf(settings, KEY).protocols.find(({ name }) => name === 'hate')
    const judging = ids.map((postId) => hate?.variantFor?.({ tenant: 'default', kind: 'post', postId })?.variant)
    expect(new Set(judging).size).toBe(2)
    await expect
      .poll(() => Promise.all(ids.map(offered)), { timeout: 10_000 })
      .toEqual(judging.map((variant) => variant === 'stricter'))
  } finally {
    await console.close()
  }
})
