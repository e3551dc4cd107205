--@include server-run
-- Whether the caller's fencing token is valid: the data are of its incarnation and have reached its watermark, and Redis has not
-- just started. An empty id is the token of callers that don't watch the incarnation.
local function holds(incarnation, id, watermark, run)
  if id == '' then return true end
  if redis.call('HGET', incarnation, 'id') ~= id or is_ahead(incarnation, watermark, run) then return false end
  return not is_quiet(incarnation)
end
-- The same for what was read from Kafka, at the price of one command: the server's run is asked for only where the data name
-- another. Kafka still has what is refused; a loss that the caller never learnt of passes.
local function has_reached(incarnation, id, watermark, run)
  if id == '' then return true end
  local id_now, watermark_now, run_now = unpack(redis.call('HMGET', incarnation, 'id', 'watermark', 'run'))
  if id_now ~= id then return false end
  if run_now == run then return tonumber(watermark_now) >= tonumber(watermark) end
  return not is_ahead(incarnation, watermark, run)
end
