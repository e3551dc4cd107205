import { parentPort, workerData } from 'node:worker_threads'
import { type Asked, answering } from './halves.ts'

const answer = answering(workerData)

parentPort?.on('message', (asked: Asked) => parentPort?.postMessage(answer(asked)))
