import type { Topics } from '../../../config/topics.ts'
import type { RedisGuard } from '../../../consumers/redis-guard.ts'
import type { SamplingRank } from '../../contracts/facts/sampling-rank.ts'
import type { Answers } from '../../contracts/ports/answers.ts'
import type { CaseStore } from '../../contracts/ports/cases.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { Erasures } from '../../contracts/ports/erasures.ts'
import type { Library } from '../../contracts/ports/library.ts'
import type { Memo } from '../../contracts/ports/memo.ts'
import type { PublicationGate } from '../../contracts/ports/publication.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { StageQueues } from '../../contracts/ports/stage-queues.ts'
import type { StreamMarks, ThreadStore } from '../../contracts/ports/threads.ts'
import type { Router } from '../../judging/engine/routes.ts'
import type { Protocol } from '../../judging/engine/script.ts'
import type { Gateway } from '../../models/gateway.ts'
import type { Loops } from '../../operations/loop.ts'
import type { KafkaClient } from '../../stream/client.ts'
import type { RedisPart } from './redis.ts'

/** What a service is made of: each part names the others that it is given. */
export interface ServiceParts {
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
  readonly gate: PublicationGate
  readonly watch: RedisGuard
  readonly loops: Loops
  readonly clock: Clock
  readonly report: Report
}
