// Whole, and at full size: beside 10,000 others.
import '../bystander/others.test.ts'
import '../bystander/others-in-redis.test.ts'
