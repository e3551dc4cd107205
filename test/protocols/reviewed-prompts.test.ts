import { describe, expect, test } from 'vitest'
import { reviewedPrompts, shippedPrompts } from './reviewed-prompts.ts'

const [shipped, reviewed] = [shippedPrompts(), reviewedPrompts()]

describe('a prompt, perspective or steps file that is shipped', () => {
  test.each(Object.keys({ ...shipped, ...reviewed }))('is as it was reviewed: config/%s', (file) => {
    expect(
      shipped[file],
      `config/${file} is not the text that was reviewed. Read the change beside the protocol's paper; when it says what the paper says, or departs from it on purpose and the page of its protocol in docs/ names it, run: npm run review-prompts`,
    ).toBe(reviewed[file])
  })
})
