// Every attack on every question, in every place; `npm test` tries a third of them on each.
process.env.ALL_ATTACKS = '1'
await import('../gateway/attacks.test.ts')
await import('../gateway/wire.test.ts')
