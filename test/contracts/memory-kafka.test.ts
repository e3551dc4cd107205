import kafkajs from 'kafkajs'
import { afterEach, expect, it } from 'vitest'
import { startMemoryKafka } from '../../src/kit/stack/servers/memory-kafka.ts'
import { registerCodecs } from '../../src/stream/codecs.ts'
import { CORRUPT_BATCH } from '../../src/stream/record.ts'
import { collector, IN_TIME, topicContract } from './topics.ts'

const { CompressionCodecs, CompressionTypes } = kafkajs
const CODECS = [CompressionTypes.GZIP, CompressionTypes.Snappy, CompressionTypes.LZ4, CompressionTypes.ZSTD] as const
const GARBAGE = Buffer.from('this is compressed with nothing that anybody knows')

topicContract(
  'in the in-memory broker',
  () => startMemoryKafka({ say: () => {} }),
  (broker) => {
    afterEach(() => registerCodecs())

    it('put stand-ins in the place of a batch that can’t be unpacked, and go on behind it', async () => {
      const { topic, produce, reader } = broker()
      const name = await topic()
      const own = (codec: number, ...values: string[]) =>
        values.map((value) => ({ key: String(codec), value, partition: 0 }))
      for (const codec of CODECS) {
        await produce(name, own(codec, 'before'))
        CompressionCodecs[codec] = () => ({ compress: async () => GARBAGE, decompress: async () => GARBAGE })
        await produce(name, own(codec, 'a', 'b', 'c'), codec)
        registerCodecs()
        await produce(name, own(codec, 'behind'))
      }
      const got = collector()
      await reader([name]).start(got.handle)
      await expect.poll(() => got.messages.length, IN_TIME).toBe(CODECS.length * 5)
      expect(got.messages.map(({ offset }) => Number(offset))).toEqual(got.messages.map((_, index) => index))
      for (const index of CODECS.keys()) {
        const [before, first, second, third, behind] = got.messages.slice(index * 5, index * 5 + 5)
        expect([before?.value?.toString(), behind?.value?.toString()]).toEqual(['before', 'behind'])
        expect(first?.value).toEqual(GARBAGE)
        expect([second?.value, third?.value]).toEqual([null, null])
        for (const one of [first, second, third])
          expect(one?.headers[CORRUPT_BATCH]).toMatch(/the batch of 3 could not be decompressed/)
        for (const one of [before, behind]) expect(one?.headers).toEqual({})
      }
    })
  },
)
