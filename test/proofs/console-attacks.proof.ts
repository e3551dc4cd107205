import { expect, it } from 'vitest'
import { attackEverywhere } from '../console/attacked.ts'
import { MARKUP_ATTACKS } from '../console/markup-attacks.ts'
import { ATTACKS } from '../models/attacks.ts'
import { tell } from '../support/pipeline.ts'

it('the whole corpus, in every place of every page of the console, is text and nothing else', async () => {
  const texts = [...MARKUP_ATTACKS, ...ATTACKS.map(({ text }) => text)]
  const failed: string[] = []
  for (const [at, text] of texts.entries())
    await attackEverywhere(text, at).catch((error: unknown) => failed.push(`${at}: ${String(error).slice(0, 400)}`))
  tell(`${texts.length} attacks in every place of every page and every form: ${failed.length} failed`)
  expect(failed).toEqual([])
}, 3_600_000)
