--@include server-run
-- Whether the caller's fencing token holds: the data are of the incarnation that it names and have reached the watermark that
-- it was told, and Redis has not only just started. An empty id is the token of callers that don't watch the incarnation.
local function holds(incarnation, id, watermark, run)
  if id == '' then return true end
  if redis.call('HGET', incarnation, 'id') ~= id or is_ahead(incarnation, watermark, run) then return false end
  return not is_quiet(incarnation)
end
