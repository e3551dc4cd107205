import { expect, test } from 'vitest'
import { judgeOnePost } from './post.ts'

test('the post that is counted is judged', async () => {
  expect(await judgeOnePost(async () => {})).toBe('good')
})
