-- Has a protocol judge a thread once more if the revision that is to be followed is its last one: nothing then counts as seen by
-- that revision. A case whose verdict is on its way out is followed by the next. Returns the outcome, and whether the thread has
-- to be made due.
local function ask_again(thread, protocol, revision, reads_comments)
  local number, gone, post, expired = unpack(redis.call('HMGET', thread, 'rev:' .. protocol, 'deleted', 'post', 'expired'))
  if gone then return 'deleted', false end
  if not post then return 'forgotten', false end
  if number ~= revision then return 'newer', false end
  if expired and reads_comments == '1' then return 'forgotten', false end
  redis.call('HSET', thread, 'seen:' .. protocol, -1)
  if redis.call('HEXISTS', thread, 'open:' .. protocol) == 0 then return 'due', true end
  redis.call('HSET', thread, 'again:' .. protocol, 1)
  return 'due', false
end
