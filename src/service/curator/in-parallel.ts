/** Works on `atOnce` items at a time. After the first that throws no other is started; those that run end before it is thrown. */
export async function inParallel<Item>(items: readonly Item[], atOnce: number, work: (item: Item) => Promise<void>) {
  const left = items.values()
  let failure: { error: unknown } | undefined
  const go = async () => {
    for (const item of left) {
      if (failure !== undefined) return
      try {
        await work(item)
      } catch (error) {
        failure ??= { error }
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, go))
  if (failure !== undefined) throw failure.error
}
