-- Raises the watermark, and notes which offsets are durable. Returns the same as incarnation/begin, which reports that data were
-- lost if the caller's token does not hold for them; and those of the entries that are handed to this publisher here.
--@include server-run
--@key incarnation
--@key outbox
--@key letters
--@arg incarnation_id
--@arg watermark
--@arg server_run
--@arg durable[].partition       TOPIC/PARTITION
--@arg durable[].offset          the next one to consume
--@arg group                     of the publishers; it exists if an entry is given
--@arg publisher
--@arg entries[].id
--@arg entries[].place             its id in its stream
--@arg entries[].is_letter
local id, lost = unpack(redis.call('HMGET', incarnation, 'id', 'lost'))
local why = lost
if not id and not why then why = 'emptied' end
if id == incarnation_id and is_ahead(incarnation, watermark, server_run) then why = 'rolled-back' end
if why then
  redis.call('HDEL', incarnation, 'id')
  redis.call('HSET', incarnation, 'lost', why)
  return { { '', '0', why, '', 0 }, {} }
end
for _, position in ipairs(durable) do
  redis.call('HSET', incarnation, 'at:' .. position.partition, position.offset)
end
local handed = {}
for _, entry in ipairs(entries) do
  local stream = entry.is_letter == '1' and letters or outbox
  local pending = redis.call('XPENDING', stream, group, entry.place, entry.place, 1, publisher)
  if #pending > 0 then handed[#handed + 1] = entry.id end
end
redis.call('HINCRBY', incarnation, 'told', 1)
return {
  {
    id, tostring(redis.call('HINCRBY', incarnation, 'watermark', 1)), '', run_of(incarnation),
    is_quiet(incarnation) and 1 or 0
  },
  handed
}
