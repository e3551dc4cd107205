// Every attack on every question, in every place; `npm test` tries a third of them on each.
process.env.ALL_ATTACKS = '1'
await import('../models/attacks.test.ts')
await import('../models/wire.test.ts')
