import type { Topics } from '../../../config/topics.ts'
import type { StoreWatch } from '../../../consumers/store-watch.ts'
import type { KafkaClient } from '../adapters/kafka/client.ts'
import type { SamplingRank } from '../domain/sampling-rank.ts'
import type { Router } from '../engine/routes.ts'
import type { Protocol } from '../engine/script.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Loops } from '../operations/loop.ts'
import type { Answers } from '../ports/answers.ts'
import type { CaseStore } from '../ports/cases.ts'
import type { Clock } from '../ports/clock.ts'
import type { Erasures } from '../ports/erasures.ts'
import type { Library } from '../ports/library.ts'
import type { Memo } from '../ports/memo.ts'
import type { StageQueues } from '../ports/queues.ts'
import type { Report } from '../ports/report.ts'
import type { StreamMarks, ThreadStore } from '../ports/threads.ts'
import type { RedisPart } from './redis.ts'

/** What a service is made of: each part says which of the others it is given. */
export interface Parts {
  readonly redis: RedisPart
  readonly kafka: KafkaClient
  readonly topics: Topics
  readonly protocols: readonly Protocol[]
  readonly samplingRank: SamplingRank
  readonly routes: Router
  readonly threads: ThreadStore
  readonly marks: StreamMarks
  readonly cases: CaseStore
  readonly answers: Answers
  readonly erasures: Erasures
  readonly memo: Memo
  readonly library: Library
  readonly gateway: Gateway
  readonly queues: StageQueues
  readonly watch: StoreWatch
  readonly loops: Loops
  readonly clock: Clock
  readonly report: Report
}
