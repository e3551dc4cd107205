import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { SABOTAGE } from './sabotage.ts'

it.each(Object.keys(SABOTAGE))('the sabotage %s breaks what the sources say today', (name) => {
  for (const { file, text } of SABOTAGE[name] ?? [])
    expect(readFileSync(join(PROJECT, file), 'utf8').split(text), `${file}: ${text}`).toHaveLength(2)
})
