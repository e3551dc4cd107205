import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../src/kit/stack/servers/local-server.ts'
import { cloned, shellIn } from '../clone/clone.ts'
import { runBy } from '../clone/commands.ts'
import { ownFolder } from '../support/own-folder.ts'
import { tell } from '../support/pipeline.ts'

const MINUTES = 60_000

/**
 * README and CONTRIBUTING as a newcomer runs them: a clone, `npm ci` from the registry that the machine has, and then what takes
 * minutes, or Apache Kafka. The short commands are in test/clone/readme.test.ts.
 */
describe('in a clean clone', { timeout: 40 * MINUTES }, () => {
  const folder = join(ownFolder('clone'), 'gavel')
  let shell: ReturnType<typeof shellIn>
  const ends = async (lines: readonly string[], saying: string | RegExp) => {
    const began = performance.now()
    const { code, out, err } = await shell.run(lines)
    tell(`${lines.join('; ')}: exit code ${code} after ${Math.round((performance.now() - began) / 1_000)} s`)
    expect(code, (out + err).slice(-3_000)).toBe(0)
    expect(out + err).toMatch(saying)
  }
  beforeAll(async () => {
    expect(cloned(folder, 'none'), 'this tree is no repository of Git').toBe(true)
    const ports = await Promise.all(
      ['GAVEL_HTTP_PORT', 'GAVEL_DOOR_PORT', 'GAVEL_CONSOLE_PORT'].map(async (name) => [
        name,
        String(await freePort()),
      ]),
    )
    // The home of whoever runs this: it knows the registry.
    shell = shellIn(folder, { HOME: process.env.HOME ?? '', ...Object.fromEntries(ports) })
  })

  it('brings its packages, and shows the demo to its end', async () => {
    await ends(['npm ci'], /added \d+ packages/)
    await ends(['npm run demo'], /lost 0, conflicting 0/)
  })

  it('runs the service on a local stack, and follows one verdict through it', async () => {
    const stack = shell.start(['npx gavel stack --env .env.local'])
    try {
      await stack.until('Everything is up', 5 * MINUTES)
      const set = 'set -a; . ./.env.local; set +a'
      await ends([set, 'npx gavel doctor'], /Kafka/)
      for (const run of [[set, 'npx gavel run'], [`${set}; npx gavel run`]]) {
        const service = shell.start(run)
        try {
          await service.until('service:started', 2 * MINUTES)
          const follow = `${set}; npx gavel produce config/demo/event.jsonl; npx gavel show calvera-p1 --transcript`
          if (run.length === 1) await ends([follow], 'calvera-p1')
        } finally {
          await service.stop()
        }
      }
    } finally {
      await stack.stop()
    }
  })

  it.each([
    ['npm run check', /no dependency violations/],
    ['npm run counts', /They take and return \d+ types/],
    ['npm run test:fast', /Tests .*passed/],
    ['npm run chaos -- --seed 7 --posts 40', /seed 7/],
  ])('%s is green', async (line, saying) => {
    await ends([line], saying)
  })

  it('and nothing that is to be run here was left out', () => {
    expect([...shell.tried].sort()).toEqual(runBy('proof: readme'))
  })
})
