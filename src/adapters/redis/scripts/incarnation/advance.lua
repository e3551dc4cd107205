-- Raises the watermark, and notes which offsets are durable. Returns the same as incarnation/begin; says that data were lost if
-- the caller's token does not hold for them.
--@include server-run
--@key incarnation
--@arg incarnation_id
--@arg watermark
--@arg server_run
--@arg durable[].partition       TOPIC/PARTITION
--@arg durable[].offset          the next one to consume
local id, lost = unpack(redis.call('HMGET', incarnation, 'id', 'lost'))
local why = lost
if not id and not why then why = 'emptied' end
if id == incarnation_id and is_ahead(incarnation, watermark, server_run) then why = 'rolled-back' end
if why then
  redis.call('HDEL', incarnation, 'id')
  redis.call('HSET', incarnation, 'lost', why)
  return { '', '0', why, '', 0 }
end
for _, position in ipairs(durable) do
  redis.call('HSET', incarnation, 'at:' .. position.partition, position.offset)
end
return {
  id, tostring(redis.call('HINCRBY', incarnation, 'beat', 1)), '', run_of(incarnation),
  is_quiet(incarnation) and 1 or 0
}
