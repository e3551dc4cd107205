-- Adopts the data in Redis, or creates an incarnation if nothing was ever accepted. Returns its id (empty after a loss),
-- watermark, the reason of the loss (empty if none), the server's run, and 1 if that run has just begun. Empty data are a
-- beginning only if the group has no offsets and nothing was ever published.
--@include server-run
--@key incarnation
--@key marks
--@arg fresh_id          of a new incarnation
--@arg schema            number of the form of new data
--@arg alone             1 if no other process consumes
--@arg published         1 if the verdicts topic has ever held a record
--@arg committed[].partition     TOPIC/PARTITION
--@arg committed[].offset        the next one to consume, as Kafka has it
local function lose(why)
  redis.call('HDEL', incarnation, 'id')
  redis.call('HSET', incarnation, 'lost', why)
  return { '', '0', why, '', 0 }
end
local function is_behind(position)
  local at = redis.call('HGET', incarnation, 'at:' .. position.partition)
  return not at or tonumber(at) < tonumber(position.offset)
end
local run = run_of(incarnation)
local id, lost = unpack(redis.call('HMGET', incarnation, 'id', 'lost'))
if lost then return { '', '0', lost, '', 0 } end
if not id then
  if redis.call('EXISTS', marks) == 0 then
    if #committed > 0 then return lose('emptied') end
    if published == '1' then return lose('forgotten') end
  end
  redis.call('HSET', incarnation, 'id', fresh_id, 'schema', schema)
  if #committed == 0 then redis.call('HSET', incarnation, 'since', redis.call('TIME')[1] .. '000') end
elseif alone == '1' then
  for _, position in ipairs(committed) do
    if is_behind(position) then return lose('rolled-back') end
  end
end
-- Another process may have made more durable since the offsets were fetched, and be about to commit it.
for _, position in ipairs(committed) do
  if is_behind(position) then redis.call('HSET', incarnation, 'at:' .. position.partition, position.offset) end
end
redis.call('HINCRBY', incarnation, 'told', 1)
return {
  redis.call('HGET', incarnation, 'id'), tostring(redis.call('HINCRBY', incarnation, 'watermark', 1)), '', run,
  is_quiet(incarnation) and 1 or 0
}
