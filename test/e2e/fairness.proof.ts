import './fairness.test.ts'
