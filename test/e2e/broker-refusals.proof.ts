import './broker-refusals.test.ts'
